// One role of one peer, driven by skald_bench over stdin and stdout:
//   node peer.mjs ROLE PEER URL TIMES RATE SECONDS COUNT
// A consumer says "ready", starts at "go", ends at "stop"; a producer says "ready"
// and runs for SECONDS at RATE events a second (0: as fast as it can) after "go";
// "preload" puts COUNT events in. TIMES gets pairs of 64-bit numbers: which event,
// and when its commit was known, in nanoseconds of CLOCK_MONOTONIC.
import fs from 'node:fs';
import readline from 'node:readline';
import pg from 'pg';

const [role, name, url, timesPath, rateText, secondsText, countText] = process.argv.slice(2);
const rate = Number(rateText), seconds = Number(secondsText), count = Number(countText);
const PRODUCERS = 8, KEYS = 10_000, DOMAIN_ROWS = 100_000;
const now = () => process.hrtime.bigint();
const sleep = ms => new Promise(done => setTimeout(done, ms));

const times = [];
const handled = numbers => {
  const at = now();
  for (const i of numbers) times.push([i, at]);
};
function writeTimes() {
  const out = new BigInt64Array(times.length * 2);
  times.forEach(([i, at], n) => {
    out[2 * n] = BigInt(i);
    out[2 * n + 1] = at;
  });
  fs.writeFileSync(timesPath, Buffer.from(out.buffer));
}

const payload = i => ({ i, type: 'StockReserved', order: 'o-0123456789abcdef', sku: 'SKU-000000042', qty: 1, price: '19.99',
  currency: 'EUR', customer: 'c-0123456789abcdef', key: `k${(i * 7919) % KEYS}`, trace: '00-4bf92f3577b34da6a3ce929d0' });

const [family, ...options] = name.split(':');
const families = { pgboss: () => import('./pgboss.mjs'), graphile: () => import('./graphile.mjs'), naive: () => import('./naive.mjs') };
const { open } = await families[family]();
const peer = await open({ url, options, role, payload });

async function produce(c, i) {
  await c.query('BEGIN');
  await c.query({ name: 'domain', text: 'UPDATE bench_domain SET qty = qty - 1 WHERE id = $1', values: [1 + (i * 7919) % DOMAIN_ROWS] });
  await peer.enqueue(c, payload(i));
  await c.query('COMMIT');
  times.push([i, now()]);
}

async function producer(c, first, begun, end) {
  for (let i = first; ; i += PRODUCERS) {
    if (rate > 0) {
      const due = begun + BigInt(Math.floor(i * 1e9 / rate));
      const wait = Number(due - now()) / 1e6;
      if (wait > 0) await sleep(wait);
    }
    if (now() >= end) return;
    await produce(c, i);
  }
}

const input = readline.createInterface({ input: process.stdin });
const line = () => new Promise(done => input.once('line', done));
const say = text => process.stdout.write(text + '\n');

if (role === 'preload') {
  await peer.preload(count);
} else if (role === 'producer') {
  const clients = await Promise.all(Array.from({ length: PRODUCERS }, async () => {
    const c = new pg.Client({ connectionString: url });
    await c.connect();
    return c;
  }));
  const go = line();
  say('ready');
  await go;
  const begun = now(), end = begun + BigInt(Math.round(seconds * 1e9));
  await Promise.all(clients.map((c, k) => producer(c, k, begun, end)));
  writeTimes();
} else {
  const go = line();
  say('ready');
  await go;
  const stop = line();
  await peer.start(handled);
  await stop;
  writeTimes();
}
say('done');
process.exit(0);
