// A hand-written outbox as one finds it in articles: NOTIFY in the business
// transaction, one relay with SELECT … FOR UPDATE SKIP LOCKED and UPDATE. No order
// per key, no retries, no dead letters, no dedupe. Option: "effect" does the
// handler's write, "inbox" dedupes too, "empty" does nothing.
import pg from 'pg';
import { EFFECT, EFFECT_AND_INBOX } from './effect.mjs';

const BATCH = 256, POLL_MS = 1000;

export async function open({ url, options: [kind], role, payload }) {
  const c = new pg.Client({ connectionString: url });
  await c.connect();
  if (role === 'consumer') {
    await c.query(`CREATE TABLE naive_outbox (id bigserial PRIMARY KEY, payload jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), published_at timestamptz);
      CREATE INDEX ON naive_outbox (id) WHERE published_at IS NULL`);
  }
  const effect = { effect: EFFECT, inbox: EFFECT_AND_INBOX }[kind];

  async function relayBatch(handled) {
    await c.query('BEGIN');
    const { rows } = await c.query({ name: 'select', text: 'SELECT id, payload FROM naive_outbox WHERE published_at IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED', values: [BATCH] });
    const ids = rows.map(row => row.id), numbers = rows.map(row => row.payload.i);
    if (rows.length > 0) {
      if (effect) await c.query({ name: 'effect', text: effect, values: [ids, numbers] });
      await c.query({ name: 'update', text: 'UPDATE naive_outbox SET published_at = now() WHERE id = ANY($1)', values: [ids] });
    }
    await c.query('COMMIT');
    handled(numbers);
    return rows.length;
  }

  return {
    async enqueue(k, data) {
      await k.query({ name: 'enqueue', text: 'INSERT INTO naive_outbox (payload) VALUES ($1)', values: [JSON.stringify(data)] });
      await k.query('NOTIFY naive_outbox');
    },
    preload: count => c.query(`INSERT INTO naive_outbox (payload) SELECT $1::jsonb || jsonb_build_object('i', g) FROM generate_series(0, $2::int - 1) g`,
                              [JSON.stringify(payload(0)), count]),
    async start(handled) {
      let signalled = false, wake = () => {};
      const listener = new pg.Client({ connectionString: url });
      await listener.connect();
      listener.on('notification', () => { signalled = true; wake(); });
      await listener.query('LISTEN naive_outbox');
      (async () => {
        for (;;) {
          signalled = false;
          while (await relayBatch(handled) === BATCH);
          if (!signalled) await new Promise(done => { wake = done; setTimeout(done, POLL_MS); });
        }
      })();
    },
  };
}
