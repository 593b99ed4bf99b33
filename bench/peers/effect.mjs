// What every handler does: one row per event, and where it dedupes an inbox row,
// for a whole batch in as few statements as the peer's API allows.
export const EFFECT_AND_INBOX = `WITH new AS (INSERT INTO bench_inbox (event_id, at) SELECT e, now() FROM unnest($1::text[]) e
  ON CONFLICT DO NOTHING RETURNING event_id)
  INSERT INTO bench_effect (event_id, i) SELECT u.e, u.i FROM unnest($1::text[], $2::bigint[]) AS u(e, i) JOIN new ON new.event_id = u.e`;

export const EFFECT_AND_INBOX_ONE = `WITH new AS (INSERT INTO bench_inbox (event_id, at) VALUES ($1, now())
  ON CONFLICT DO NOTHING RETURNING event_id)
  INSERT INTO bench_effect (event_id, i) SELECT event_id, $2 FROM new`;

export const EFFECT = 'INSERT INTO bench_effect (event_id, i) SELECT * FROM unnest($1::text[], $2::bigint[])';
