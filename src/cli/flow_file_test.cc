#include "cli/flow_file.h"

#include <gmock/gmock.h>

#include "cli/named_file.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string file_refusal(std::string_view text, const std::string& name) {
  try {
    parse_workflow(text, name);
  } catch (const Invalid& error) {
    EXPECT_EQ(error.code(), "BAD_WORKFLOW_FILE");
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(WorkflowFile, TomlAndJsonSayTheSame) {
  const WorkflowFile toml = parse_workflow(
      "name = 'a'\n[[gitRefs]]\ngitId = 'site'\n[[works]]\nname = 'w'\nwantsReport = true\n"
      "[[works.tasks]]\nprompt = '''\nmake\n'''\n",
      "plan.toml");
  const WorkflowFile json = parse_workflow(
      R"({"name":"a","gitRefs":[{"gitId":"site"}],"works":[{"name":"w","wantsReport":true,"tasks":[{"prompt":"make\n"}]}]})",
      "plan.json");
  EXPECT_EQ(toml.body, json.body);
}

TEST(WorkflowFile, APlaceIsTheLineOfTheValueOrOfWhatItLiesIn) {
  const WorkflowFile file = parse_workflow("name = 'a'\n\n[[works]]\nname = 'w'\n", "plan.toml");
  EXPECT_EQ(file.place("/works/0/name"), "plan.toml:4");
  EXPECT_EQ(file.place("/works/0/tasks"), "plan.toml:3");
  EXPECT_EQ(file.place("/agent"), "plan.toml");
  EXPECT_EQ(file.place("no pointer"), "plan.toml");
  EXPECT_EQ(parse_workflow("{}", "plan.json").place("/works/0"), "plan.json");
}

TEST(WorkflowFile, WhatCannotBeReadIsToldWithFileAndLine) {
  EXPECT_THAT(file_refusal("name = 'a'\nworks = [\n'", "plan.toml"), StartsWith("plan.toml:3: this is not TOML: "));
  EXPECT_THAT(file_refusal("name = 'a'\nagent = 2026-11-15\n", "plan.toml"), StartsWith("plan.toml:2: at /agent: "));
  EXPECT_THAT(file_refusal("name = inf\n", "plan.toml"), StartsWith("plan.toml:1: at /name: "));
  EXPECT_THAT(file_refusal("{\n\"name\": \"a\",\n}", "plan.json"), StartsWith("plan.json:3: the text is not JSON"));
  EXPECT_THAT(file_refusal("{\n\"name\": \"a\"", "plan.json"), StartsWith("plan.json:2: "));
  EXPECT_THAT(file_refusal(R"({"name":"a","name":"b"})", "plan.json"), HasSubstr("one member twice"));
  EXPECT_THAT(file_refusal("[]", "plan.json"), StartsWith("plan.json: a workflow is an object"));
  EXPECT_THAT(file_refusal("name: a", "plan.yaml"), HasSubstr("name it .toml or .json"));
}

TEST(WorkflowFile, TooManyValuesAndAMissingFileAreRefused) {
  std::string many = "works = [";
  for (int i = 0; i < 20'001; ++i) many += "1,";
  EXPECT_THAT(file_refusal(many + "]", "plan.toml"), HasSubstr("at most 20000 values"));
  many.back() = ']';
  many.replace(0, 8, "{\"a\":");
  EXPECT_THAT(file_refusal(many + "}", "plan.json"), HasSubstr("more than 20000 values"));
  EXPECT_THROW(read_workflow("/nowhere/plan.toml"), Invalid);
}

// The members of a schema's object, and whether every one of the value is among them.
void expect_known(const boost::json::value& value, const boost::json::object& properties, const std::string& what) {
  for (const auto& [name, member] : value.get_object())
    EXPECT_TRUE(properties.contains(name)) << what << " has no " << name << " in the schema";
}

TEST(WorkflowFile, TheSampleOfTheDocsIsReadAndKeepsToTheSchema) {
  const std::string docs = SKALD_DOCS;
  const WorkflowFile sample = read_workflow(docs + "/examples/workflow.toml");
  const boost::json::value schema = json::parse(
      read_named_file(docs + "/schemas/workflow.schema.json", 1 << 20, "BAD_WORKFLOW_FILE", "it is a part of docs"));
  const auto& kinds = schema.at("$defs");
  const auto members = [&](const char* kind) { return kinds.at(kind).at("properties").as_object(); };
  expect_known(sample.body, schema.at("properties").as_object(), "a workflow");
  for (const auto& ref : sample.body.at("gitRefs").as_array()) expect_known(ref, members("gitRef"), "a reference");
  for (const auto& work : sample.body.at("works").as_array()) {
    expect_known(work, members("work"), "a work");
    for (const auto& task : work.at("tasks").as_array()) expect_known(task, members("task"), "a task");
  }
}

}  // namespace
}  // namespace skald::cli
