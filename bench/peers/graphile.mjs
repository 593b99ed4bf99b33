// graphile-worker. Options: concurrent jobs, size of the local queue.
import pg from 'pg';
import { Logger, run, runMigrations } from 'graphile-worker';
import { EFFECT_AND_INBOX_ONE } from './effect.mjs';

const TASK = 'bench';

export async function open({ url, options: [jobs, queue], role, payload }) {
  const logger = new Logger(() => () => {});
  if (role === 'consumer') await runMigrations({ connectionString: url, logger });
  return {
    enqueue: (c, data) => c.query({ name: 'add', text: 'SELECT graphile_worker.add_job($1, $2::json)', values: [TASK, JSON.stringify(data)] }),
    async preload(count) {
      const c = new pg.Client({ connectionString: url });
      await c.connect();
      for (let i = 0; i < count; i += 1000) {
        await c.query(`SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(SELECT json_populate_record(NULL::graphile_worker.job_spec,
                         json_build_object('identifier', $1::text, 'payload', $2::jsonb || jsonb_build_object('i', g))) FROM generate_series($3::int, $4::int) g))`,
                      [TASK, JSON.stringify(payload(0)), i, Math.min(i + 1000, count) - 1]);
        if (i === 0) await c.query('ANALYZE graphile_worker._private_jobs');
      }
      await c.end();
    },
    async start(handled) {
      const worker = { connectionString: url, concurrentJobs: Number(jobs), maxPoolSize: Number(jobs) + 2, localQueue: { size: Number(queue) },
                       completeJobBatchDelay: 0, failJobBatchDelay: 0 };
      await run({ preset: { worker }, logger, noHandleSignals: true, taskList: { [TASK]: async (data, helpers) => {
        await helpers.withPgClient(c => c.query({ name: 'effect', text: EFFECT_AND_INBOX_ONE, values: [helpers.job.id, data.i] }));
        handled([data.i]);
      } } });
    },
  };
}
