// What the paths of this service have in common.
#pragma once

#include <charconv>
#include <functional>

#include "agentflow/flow.h"
#include "skald/conditions.h"
#include "skald/http.h"

namespace agentflow {

// A Git or an McpServer that is gone; the folder of a clone goes, too.
struct Gone {
  std::string id;
  std::optional<std::string> folder;
};
BOOST_DESCRIBE_STRUCT(Gone, (), (id, folder))

inline void refuse_while_used(const skald::RawJson& active_workflow_ids, const std::string& what) {
  const Ids ids = in_column<Ids>(active_workflow_ids);
  if (!ids.empty())
    throw skald::Refused("IN_USE", what + " is used by workflow " + ids[0] + (ids.size() > 1 ? " and others" : "") +
                                       ": let them end, or delete them");
}

// A list of rows that have created_at and id, newest first, filtered by columns that are equal to what is asked for.
// `check_filters` refuses values that none can have.
template <class Row, class View>
void add_list(
    const FlowHandle& flow, skald::Router& router, const std::string& path, const std::string& summary,
    const std::vector<std::string>& filters, std::function<View(skald::Transaction&, const Row&)> view_of_row,
    std::function<void(const skald::Request&)> check_filters = [](const skald::Request&) {}) {
  router.get(
      path, skald::Access::admin, skald::describe<void, skald::Listing<View>>(summary, 200, filters),
      [flow, filters, view_of_row, check_filters](const skald::Request& request) {
        check_filters(request);
        const skald::Page page = skald::Page::of(request);
        std::int64_t created_at = 0;
        std::vector<std::string> values, after;
        skald::Conditions conditions;
        for (const std::string& name : filters)
          if (const auto value = request.query_value(name)) values.push_back(*value);
        std::size_t taken = 0;
        for (const std::string& name : filters)
          if (request.query_value(name)) conditions.add(name + " = " + conditions.bind(values[taken++]));
        if (page.cursor) {
          after = page.after(2);
          const auto [end, error] = std::from_chars(after[0].data(), after[0].data() + after[0].size(), created_at);
          if (error != std::errc() || end != after[0].data() + after[0].size())
            throw skald::Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
          const std::string at = conditions.bind(created_at), id = conditions.bind(after[1]);
          conditions.add("(created_at, id) < (" + at + ", " + id + ")");
        }
        const std::string limit = conditions.bind(page.limit + 1);
        std::vector<View> views;
        flow->db().read([&](skald::Transaction& tx) {
          views.clear();
          for (const Row& row : tx.select<Row>(conditions.where() + " ORDER BY created_at DESC, id DESC LIMIT " + limit,
                                               conditions.params()))
            views.push_back(view_of_row(tx, row));
        });
        return skald::Response::json(200, page.cut(std::move(views), [](const View& last) {
          return skald::Page::cursor_at({std::to_string(skald::to_micros(last.created_at)), last.id});
        }));
      });
}

}  // namespace agentflow
