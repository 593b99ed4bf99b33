#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agentflow/mcp.h"

namespace agentflow {
namespace {

class McpConfig : public testing::Test {
 protected:
  McpConfig() {
    char name[] = "/tmp/mcp-config-XXXXXX";
    folder_ = mkdtemp(name);
    setenv("SKALD_TEST_SECRET", "s3cret", 1);
  }
  ~McpConfig() override {
    unsetenv("SKALD_TEST_SECRET");
    std::filesystem::remove_all(folder_);
  }

  std::string file(const std::string& text) const {
    const std::string path = folder_ + "/secret";
    std::ofstream(path, std::ios::binary) << text;
    return "${file:" + path + "}";
  }
  static std::string resolved(const std::string& value) { return resolve_variables({{"V", value}}).at("V"); }
  static std::string refusal(const std::string& value) {
    try {
      return "no refusal: " + resolved(value);
    } catch (const skald::Refused& error) {
      EXPECT_EQ(error.code(), "NO_SECRET");
      return error.what();
    }
  }
  static std::string code_of(const McpAddress& address) {
    try {
      mcp_config(std::span(&address, 1));
      return "none";
    } catch (const skald::Invalid& error) {
      return error.code();
    }
  }

  std::string folder_;
};

TEST_F(McpConfig, ServersStandInTheOrderOfTheirNamesWithSecretsInPlace) {
  const McpAddress servers[] = {
      {.name = "web", .command = "", .args = {}, .variables = {}, .url = "https://example.org/mcp"},
      {.name = "files",
       .command = "npx",
       .args = {"-y", "a \"b\""},
       .variables = {{"B", "2"}, {"A", "${env:SKALD_TEST_SECRET}"}},
       .url = {}}};
  EXPECT_EQ(mcp_config(servers),
            R"({"mcpServers":{"files":{"command":"npx","args":["-y","a \"b\""],"env":{"A":"s3cret","B":"2"}},)"
            R"("web":{"type":"http","url":"https://example.org/mcp"}}})"
            "\n");
  EXPECT_EQ(mcp_config({}), "{\"mcpServers\":{}}\n");
}

TEST_F(McpConfig, AFilesSecretEndsAtItsLastLinesEnd) {
  EXPECT_EQ(resolved(file("s3cret\n")), "s3cret");
  EXPECT_EQ(resolved(file("s3cret\r\n")), "s3cret");
  EXPECT_EQ(resolved(file("two\nlines\n\n")), "two\nlines\n");
  EXPECT_EQ(resolved(file("")), "");
  EXPECT_EQ(resolved(file(std::string(64 << 10, 'x'))), std::string(64 << 10, 'x'));
}

TEST_F(McpConfig, OnlyAWholeValueIsAReference) {
  for (const std::string value :
       {"x${env:SKALD_TEST_SECRET}", "${env:SKALD_TEST_SECRET} ", "${other:NAME}", "$SKALD_TEST_SECRET", "${env:", ""})
    EXPECT_EQ(resolved(value), value);
  EXPECT_EQ(resolved("${env:SKALD_TEST_SECRET}"), "s3cret");
}

TEST_F(McpConfig, WhatIsNotThereIsNamed) {
  EXPECT_EQ(refusal("${env:SKALD_TEST_NONE}"),
            "the variable V cannot be given its secret: the environment has no variable SKALD_TEST_NONE: set it where "
            "skald is started");
  EXPECT_NE(refusal("${env:}").find("no variable"), std::string::npos);
  EXPECT_NE(refusal("${file:/no/such/file}").find("there is no file /no/such/file"), std::string::npos);
  EXPECT_NE(refusal("${file:}").find("there is no file"), std::string::npos);
}

TEST_F(McpConfig, AFileThatIsNoTextOfItsOwnIsRefusedWithoutShowingIt) {
  EXPECT_NE(refusal(file(std::string((64 << 10) + 1, 'x'))).find("more than 64 KiB"), std::string::npos);
  EXPECT_NE(refusal(file(std::string("s3c\0ret", 7))).find("NUL"), std::string::npos);
  EXPECT_NE(refusal(file("s3c\xffret")).find("UTF-8"), std::string::npos);
  EXPECT_EQ(refusal(file("s3c\xffret")).find("s3c"), std::string::npos);
  EXPECT_NE(refusal("${file:" + folder_ + "}").find("there is no file"), std::string::npos);
}

TEST_F(McpConfig, APipeInPlaceOfAFileIsNotWaitedFor) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_NE(refusal("${file:" + path + "}").find("there is no file"), std::string::npos);
}

TEST_F(McpConfig, AnAddressIsACommandOrAUrl) {
  const McpAddress good{.name = "a", .command = "b", .args = {}, .variables = {}, .url = {}};
  EXPECT_EQ(code_of(good), "none");
  const auto changed = [&](auto change) {
    McpAddress address = good;
    change(address);
    return code_of(address);
  };
  EXPECT_EQ(changed([](McpAddress& a) { a.name = ""; }), "BAD_MCP_SERVER");
  EXPECT_EQ(changed([](McpAddress& a) { a.name = "a\x1b[2J"; }), "BAD_MCP_SERVER");
  EXPECT_EQ(changed([](McpAddress& a) { a.name = std::string(101, 'a'); }), "BAD_MCP_SERVER");
  EXPECT_EQ(changed([](McpAddress& a) { a.command = ""; }), "BAD_MCP_SERVER");
  EXPECT_EQ(changed([](McpAddress& a) { a.url = "http://127.0.0.1/"; }), "BAD_MCP_SERVER");
  const auto by_url = [&](const std::string& url) {
    return changed([&](McpAddress& a) { a = {.name = "a", .command = "", .args = {}, .variables = {}, .url = url}; });
  };
  EXPECT_EQ(by_url("https://example.org/mcp"), "none");
  EXPECT_EQ(by_url("file:///etc/passwd"), "BAD_MCP_SERVER");
  EXPECT_EQ(by_url("http://a\r\nX: y"), "BAD_MCP_SERVER");
  EXPECT_EQ(by_url(""), "BAD_MCP_SERVER");
}

TEST_F(McpConfig, TwoServersOfOneNameAreRefused) {
  const McpAddress one{.name = "a", .command = "b", .args = {}, .variables = {}, .url = {}};
  const McpAddress both[] = {one, one};
  EXPECT_THROW(mcp_config(both), skald::Invalid);
}

}  // namespace
}  // namespace agentflow
