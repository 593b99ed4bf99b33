// pg-boss. Options: "notify" wakes workers by NOTIFY, "poll" by polling; then the
// batch size and how many workers.
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { EFFECT_AND_INBOX } from './effect.mjs';

const QUEUE = 'bench';

export async function open({ url, options: [wake, batch, workers], role, payload }) {
  const notify = wake === 'notify';
  const boss = new PgBoss({ connectionString: url, max: 10, useListenNotify: notify });
  boss.on('error', error => console.error('pg-boss', error.message));
  boss.on('warning', () => {});
  await boss.start();
  if (role === 'consumer') await boss.createQueue(QUEUE, notify ? { notify: true } : {});
  const pool = new pg.Pool({ connectionString: url, max: Number(workers) });
  return {
    enqueue: (c, data) => boss.send(QUEUE, data, { db: { executeSql: (text, values) => c.query(text, values) } }),
    async preload(count) {
      for (let i = 0; i < count; i += 1000)
        await boss.insert(QUEUE, Array.from({ length: Math.min(1000, count - i) }, (_, k) => ({ data: payload(i + k) })));
    },
    async start(handled) {
      const settings = { batchSize: Number(batch), localConcurrency: Number(workers), pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
      await boss.work(QUEUE, settings, async jobs => {
        const numbers = jobs.map(job => job.data.i);
        await pool.query({ name: 'effect', text: EFFECT_AND_INBOX, values: [jobs.map(job => job.id), numbers] });
        handled(numbers);
      });
    },
  };
}
