#include "http/error_pages.h"

#include <gmock/gmock.h>

#include <set>

#include "http/fake_env.h"
#include "http/problem.h"
#include "http/router.h"

namespace skald::http {
namespace {

using testing::HasSubstr;

class ErrorPagesTest : public testing::Test {
 protected:
  Response get(const std::string& path) {
    Request request;
    request.method = "GET";
    request.path = path;
    return routes_.dispatch(request);
  }
  FakeEnv fake_;
  // Nobody without a token, but for these pages.
  Routes routes_{fake_.env, Authenticator(fake_.env, "a secret that is long enough"), "1"};
};

TEST_F(ErrorPagesTest, TheTypeOfAProblemLeadsToItsPage) {
  const Response refused = get("/nothing");
  ASSERT_EQ(refused.status, 404);
  const std::string type(json::parse(refused.body).at("type").as_string());
  EXPECT_EQ(type, "/docs/errors/UNKNOWN_PATH");
  const Response page = get(type);
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, HasSubstr("<h1>UNKNOWN_PATH</h1>"));
  EXPECT_THAT(page.body, HasSubstr("<code>/openapi.json</code> lists what there is"));
}

TEST_F(ErrorPagesTest, EveryCodeHasAPageOfItsOwn) {
  std::set<std::string_view> codes;
  const std::string list = get("/docs/errors").body;
  for (const ErrorCode& each : error_codes()) {
    EXPECT_TRUE(codes.insert(each.code).second) << each.code << " stands twice in docs/errors.md";
    EXPECT_FALSE(each.text.empty() || each.group.empty()) << each.code;
    EXPECT_EQ(get("/docs/errors/" + std::string(each.code)).status, 200) << each.code;
    EXPECT_THAT(list, HasSubstr("<a href=\"/docs/errors/" + std::string(each.code) + "\">"));
  }
  EXPECT_GT(codes.size(), 200u);
}

TEST_F(ErrorPagesTest, ACodeThatThereIsNotIsNotFound) {
  EXPECT_EQ(get("/docs/errors/NO_SUCH_CODE").status, 404);
  EXPECT_EQ(get("/docs/errors/%3Cscript%3E").status, 404);
}

}  // namespace
}  // namespace skald::http
