#include "workload.h"

#include <boost/json.hpp>

namespace bench {

std::string payload_of(std::int64_t i) {
  return "{\"i\":" + std::to_string(i) +
         R"(,"type":"StockReserved","order":"o-0123456789abcdef","sku":"SKU-000000042","qty":1,"price":"19.99",)"
         R"("currency":"EUR","customer":"c-0123456789abcdef","key":")" +
         key_of(i) + R"(","trace":"00-4bf92f3577b34da6a3ce929d0"})";
}

std::int64_t number_in(const std::string& payload) { return boost::json::parse(payload).at("i").as_int64(); }

}  // namespace bench
