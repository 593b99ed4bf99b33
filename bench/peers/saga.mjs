// The order sagas of one peer, driven by skald_bench over stdin and stdout:
//   node saga.mjs sagas PEER URL TIMES IN_FLIGHT SECONDS COUNT
// Says "ready", runs so many at once for SECONDS after "go", then says "done". TIMES
// gets pairs of 64-bit numbers: when each saga began and when it had ended, in
// nanoseconds of CLOCK_MONOTONIC.
import fs from 'node:fs';
import readline from 'node:readline';
import { order } from './order.mjs';

const [, name, url, timesPath, inFlightText, secondsText] = process.argv.slice(2);
const inFlight = Number(inFlightText), seconds = Number(secondsText);
const now = () => process.hrtime.bigint();

const [family, ...options] = name.split(':');
const families = { dbos: () => import('./dbos.mjs'), restate: () => import('./restate.mjs') };
const { open } = await families[family]();
const run = await open({ url, options });

const input = readline.createInterface({ input: process.stdin });
const go = new Promise(done => input.once('line', done));
process.stdout.write('ready\n');
await go;

const times = [];
const end = now() + BigInt(Math.round(seconds * 1e9));
let next = 0;
await Promise.all(Array.from({ length: inFlight }, async () => {
  for (let begun = now(); begun < end;) {
    await run(order(next++));
    const ended = now();
    times.push(begun, ended);
    begun = ended;
  }
}));
fs.writeFileSync(timesPath, Buffer.from(BigInt64Array.from(times).buffer));
process.stdout.write('done\n');
process.exit(0);
