// The order saga's work, as saga_order.h has it: what each step writes, and which
// order is declined.
export const SQL = {
  create: "INSERT INTO bench_order (id, sku, quantity, status) VALUES ($1, $2, 1, 'NEW') ON CONFLICT DO NOTHING",
  reserve: 'UPDATE bench_stock SET quantity = quantity - 1 WHERE sku = $1 AND quantity >= 1',
  pay: 'INSERT INTO bench_payment (order_id, amount) VALUES ($1, 1999) ON CONFLICT DO NOTHING',
  release: 'UPDATE bench_stock SET quantity = quantity + 1 WHERE sku = $1',
  cancel: "UPDATE bench_order SET status = 'CANCELLED' WHERE id = $1",
};

const PRODUCTS = 10_000;
export const order = n => ({ id: `01KBENCH${String(n).padStart(18, '0')}`, sku: (n * 7919) % PRODUCTS, declined: n % 100 === 99 });
