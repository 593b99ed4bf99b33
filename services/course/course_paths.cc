#include "course/paths.h"
#include "course/record.h"
#include "course/validation.h"
#include "skald/id.h"

namespace course {
namespace {

using skald::Access;
using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;

Response create_course(skald::Env env, const Request& request, Transaction& tx) {
  const auto wanted = request.as<NewCourse>();
  check(wanted);
  const skald::Time now = tx.now();
  const Course course{skald::make_id(now, env.random), wanted.name, now};
  tx.insert(course);
  return Response::json(201, course);
}

Response list_courses(skald::Database& db, const Request& request) {
  const Page page = Page::of(request);
  const auto name = request.query_value("name");
  auto rows = db.read_result([&](Transaction& tx) {
    return tx.select<Course>("WHERE id > $1 AND (CAST($3 AS TEXT) IS NULL OR name = $3) ORDER BY id LIMIT $2",
                             page.after(1)[0], page.limit + 1, name);
  });
  return Response::json(200, page.cut(std::move(rows), [](const Course& last) { return Page::cursor_at({last.id}); }));
}

Response show_course(skald::Database& db, const Request& request) {
  const std::string& id = request.param("id");
  const auto course =
      skald::is_id(id) ? db.read_result([&](Transaction& tx) { return tx.find<Course>(id); }) : std::nullopt;
  if (!course) throw skald::NotFound("COURSE_NOT_FOUND", "there is no course of this id");
  return Response::json(200, *course);
}

}  // namespace

void add_course_paths(skald::Database& db, skald::Router& router, skald::Env env) {
  router.post(db, "/booking/courses", Access::admin, skald::describe<NewCourse, Course>("Add a course", 201),
              [env](const Request& request, Transaction& tx) { return create_course(env, request, tx); });
  router.get("/booking/courses", Access::customer,
             skald::describe<void, skald::Listing<Course>>("Courses, oldest first", 200, {"name"}),
             [&db](const Request& request) { return list_courses(db, request); });
  router.get("/booking/courses/{id}", Access::customer, skald::describe<void, Course>("A course"),
             [&db](const Request& request) { return show_course(db, request); });
}

}  // namespace course
