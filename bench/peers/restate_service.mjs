// The process with the steps that Restate calls:
//   node restate_service.mjs URL PORT ADMIN_PORT POOL
// Says "ready" once the server knows of it.
import pg from 'pg';
import * as restate from '@restatedev/restate-sdk';
import { SQL } from './order.mjs';

const [url, port, adminPort, pool] = process.argv.slice(2);
const connections = new pg.Pool({ connectionString: url, max: Number(pool) });
const write = async (sql, values) => (await connections.query({ name: sql.slice(0, 40), text: sql, values })).rowCount;

const order = restate.service({
  name: 'order',
  handlers: {
    run: async (ctx, { id, sku, declined }) => {
      await ctx.run('create', () => write(SQL.create, [id, sku]));
      if (await ctx.run('reserve', () => write(SQL.reserve, [sku])) !== 1) throw new restate.TerminalError('the stock is empty');
      try {
        await ctx.run('pay', () => {
          if (declined) throw new restate.TerminalError('declined');
          return write(SQL.pay, [id]);
        });
      } catch (error) {
        if (!(error instanceof restate.TerminalError)) throw error;
        await ctx.run('release', () => write(SQL.release, [sku]));
        await ctx.run('cancel', () => write(SQL.cancel, [id]));
      }
    },
  },
});
await restate.serve({ services: [order], port: Number(port), logger: () => {} });

const admin = path => `http://127.0.0.1:${adminPort}${path}`;
const healthy = () => fetch(admin('/health')).then(answer => answer.ok, () => false);
for (const end = Date.now() + 30_000; !(await healthy());) {
  if (Date.now() > end) throw new Error('the Restate server does not answer');
  await new Promise(done => setTimeout(done, 100));
}
const answer = await fetch(admin('/deployments'), { method: 'POST', headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }) });
if (!answer.ok) throw new Error(`not registered: ${await answer.text()}`);
process.stdout.write('ready\n');
