#include "order/shop.h"
#include "order/stock.h"
#include "order/validation.h"
#include "order/views.h"
#include "skald/conditions.h"
#include "skald/text.h"

namespace order {
namespace {

using skald::Access;
using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;
using skald::VersionEntry;

struct VersionView {
  std::int64_t seq = 0;
  std::string saga_id, action;
  std::int64_t amount = 0;
  skald::VersionStatus status{};
  skald::Time at{};
  std::optional<skald::Time> settled_at;
};
BOOST_DESCRIBE_STRUCT(VersionView, (), (seq, saga_id, action, amount, status, at, settled_at))

Product product_of(Transaction& tx, const Request& request) {
  const std::string& sku = request.param("sku");
  auto product = is_sku(sku) ? tx.find<Product>(sku) : std::nullopt;
  if (!product) throw skald::NotFound("PRODUCT_NOT_FOUND", "there is no product of this sku");
  return *product;
}

Response create_product(const Request& request, Transaction& tx) {
  const auto wanted = request.as<NewProduct>();
  check(wanted);
  const Product product{
      wanted.sku, wanted.name, wanted.price, wanted.currency, wanted.stock, 0, 0, wanted.stock, 0, tx.now(), 0};
  const bool fresh =
      tx.execute(
          "INSERT INTO order_product (sku, name, price, currency, quantity, reserved, sold, initial, restocked, "
          "created_at, version) VALUES ($1, $2, $3, $4, $5, 0, 0, $5, 0, $6, 0) ON CONFLICT (sku) DO NOTHING",
          product.sku, product.name, product.price, product.currency, product.initial, product.created_at) == 1;
  if (!fresh) throw skald::Conflict("PRODUCT_EXISTS", "there is a product " + product.sku + " already; restock it");
  return Response::json(201, view_of(tx, product));
}

Response change_price(const Request& request, Transaction& tx) {
  const auto asked = request.as<NewPrice>();
  check_price(asked.price);
  tx.execute("UPDATE order_product SET price = $2, version = version + 1 WHERE sku = $1", product_of(tx, request).sku,
             asked.price);
  return Response::json(200, view_of(tx, product_of(tx, request)));
}

// As view_of() tells it.
constexpr const char* kStatus =
    "CASE WHEN EXISTS (SELECT 1 FROM order_reservation r WHERE r.sku = order_product.sku AND r.state = 'RESERVED') "
    "THEN 'RESERVED' "
    "WHEN EXISTS (SELECT 1 FROM order_reservation r WHERE r.sku = order_product.sku) THEN 'RESERVING' "
    "WHEN quantity > 0 THEN 'AVAILABLE' ELSE 'SOLD_OUT' END";

std::vector<Product> select_products(Transaction& tx, const Request& request, const Page& page) {
  const auto status = skald::enum_filter<ProductStatus>(request, "status", "BAD_STATUS");
  const std::string after = page.after(1)[0];
  skald::Conditions conditions;
  conditions.add("sku > " + conditions.bind(after));
  if (status) conditions.add(std::string(kStatus) + " = " + conditions.bind(*status));
  const std::string limit = conditions.bind(page.limit + 1);
  return tx.select<Product>(conditions.where() + " ORDER BY sku LIMIT " + limit, conditions.params());
}

Response list_products(skald::Database& db, const Request& request) {
  const Page page = Page::of(request);
  std::vector<ProductView> views;
  db.read([&](Transaction& tx) {
    views.clear();
    for (const Product& product : select_products(tx, request, page))
      views.push_back(shown_to(request.caller, view_of(tx, product)));
  });
  return Response::json(
      200, page.cut(std::move(views), [](const ProductView& last) { return Page::cursor_at({last.sku}); }));
}

std::int64_t seq_after(const Page& page) {
  const std::string text = page.after(1)[0];
  if (text.empty()) return 1;
  if (text.size() > 18 || text.find_first_not_of("0123456789") != text.npos)
    throw skald::Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
  return std::stoll(text) + 1;
}

Response list_versions(skald::Database& db, const Request& request) {
  const Page page = Page::of(request);
  const std::int64_t from = seq_after(page);
  std::vector<VersionView> views;
  db.read([&](Transaction& tx) {
    views.clear();
    const Product product = product_of(tx, request);
    for (const VersionEntry& entry :
         version_file().entries(tx, resource_of(product.sku), from, static_cast<std::int64_t>(page.limit) + 1)) {
      views.push_back({entry.seq, entry.saga_id, entry.action, entry.amount, entry.status, entry.at, std::nullopt});
      if (entry.settled_at != skald::Time{}) views.back().settled_at = entry.settled_at;
    }
  });
  return Response::json(200, page.cut(std::move(views), [](const VersionView& last) {
    return Page::cursor_at({std::to_string(last.seq)});
  }));
}

}  // namespace

void add_product_paths(const ShopHandle& shop, skald::Router& router) {
  skald::Database& db = shop->db();
  router.post(db, "/order/products", Access::admin, skald::describe<NewProduct, ProductView>("Offer a product", 201),
              create_product);
  router.get("/order/products", Access::customer,
             skald::describe<void, skald::Listing<ProductView>>("Products, by sku", 200, {"status"}),
             [&db](const Request& request) { return list_products(db, request); });
  router.get("/order/products/{sku}", Access::customer,
             skald::describe<void, ProductView>("A product and, for admins, who is at it"),
             [&db](const Request& request) {
               return db.read_result([&](Transaction& tx) {
                 return Response::json(200, shown_to(request.caller, view_of(tx, product_of(tx, request))));
               });
             });
  router.post(db, "/order/products/{sku}/restock", Access::admin,
              skald::describe<Restock, ProductView>("Add units to a product"),
              [shop](const Request& request, Transaction& tx) {
                const auto asked = request.as<Restock>();
                check_quantity(asked.quantity, kStockMax);
                const std::string sku = product_of(tx, request).sku;
                restock(tx, "restock " + skald::cut_text(request.caller.subject, 100), sku, asked.quantity);
                shop->engine.sagas().freed(tx, kUnits, sku);
                return Response::json(200, view_of(tx, product_of(tx, request)));
              });
  router.post(db, "/order/products/{sku}/price", Access::admin,
              skald::describe<NewPrice, ProductView>("Change a product's price for orders that are not reserved yet"),
              change_price);
  router.get("/order/products/{sku}/versions", Access::admin,
             skald::describe<void, skald::Listing<VersionView>>("The product's version file"),
             [&db](const Request& request) { return list_versions(db, request); });
}

}  // namespace order
