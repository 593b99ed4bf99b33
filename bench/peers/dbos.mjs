// DBOS Transact. Each step is a transaction of the PostgreSQL data source, in which
// the business write and the step's record commit together. Option: size of the pools.
import { DBOS } from '@dbos-inc/dbos-sdk';
import { PostgresDataSource } from '@dbos-inc/postgres-datasource';
import { SQL } from './order.mjs';

export async function open({ url, options: [pool] }) {
  const at = new URL(url);
  const source = new PostgresDataSource('app', { host: at.hostname, port: Number(at.port), user: at.username,
    database: at.pathname.slice(1), max: Number(pool), onnotice: () => {} });
  const step = (sql, values) => source.runTransaction(
    async () => (await PostgresDataSource.client.unsafe(sql, values, { prepare: true })).count, { name: 'step' });
  const decline = () => source.runTransaction(async () => { throw new Error('declined'); }, { name: 'step' });

  const saga = DBOS.registerWorkflow(async ({ id, sku, declined }) => {
    await step(SQL.create, [id, sku]);
    if (await step(SQL.reserve, [sku]) !== 1) throw new Error('the stock is empty');
    try {
      await (declined ? decline() : step(SQL.pay, [id]));
    } catch {
      await step(SQL.release, [sku]);
      await step(SQL.cancel, [id]);
    }
  }, { name: 'order' });
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, systemDatabasePoolSize: Number(pool), logLevel: 'error', runAdminServer: false });
  await DBOS.launch();
  return saga;
}
