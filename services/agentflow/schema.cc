#include <array>

#include "agentflow/agentflow.h"

namespace agentflow {
namespace {

constexpr const char* kTables = R"sql(
  CREATE TABLE flow_git (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, remote TEXT, path TEXT NOT NULL, status TEXT NOT NULL, error TEXT,
    active_workflow_ids TEXT NOT NULL, created_at BIGINT NOT NULL, version BIGINT NOT NULL);
  CREATE TABLE flow_mcp_server (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, command TEXT, url TEXT, args TEXT NOT NULL, variables TEXT NOT NULL,
    active_workflow_ids TEXT NOT NULL, created_at BIGINT NOT NULL, version BIGINT NOT NULL);
  CREATE TABLE flow_template (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, body TEXT NOT NULL, created_at BIGINT NOT NULL,
    version BIGINT NOT NULL);
  CREATE TABLE flow_workflow (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, agent TEXT NOT NULL, status TEXT NOT NULL, git_refs TEXT NOT NULL,
    work_ids TEXT NOT NULL, work_statuses TEXT NOT NULL, work_tree_statuses TEXT NOT NULL, error TEXT,
    cancel_wanted BIGINT NOT NULL, saga_id TEXT,
    created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, version BIGINT NOT NULL);
  CREATE INDEX flow_workflow_created ON flow_workflow (created_at, id);
  CREATE INDEX flow_workflow_status ON flow_workflow (status, created_at, id);
  CREATE TABLE flow_work (
    id TEXT PRIMARY KEY, workflow_id TEXT NOT NULL, name TEXT NOT NULL, position BIGINT NOT NULL, status TEXT NOT NULL,
    agent_status TEXT NOT NULL, mcp_server_refs TEXT NOT NULL, tasks TEXT NOT NULL, wants_report BIGINT NOT NULL,
    error TEXT, version BIGINT NOT NULL);
  CREATE INDEX flow_work_workflow ON flow_work (workflow_id, position);
  CREATE INDEX flow_work_running ON flow_work (id) WHERE status = 'RUNNING';
  CREATE TABLE flow_work_tree (
    id TEXT PRIMARY KEY, git_id TEXT NOT NULL, workflow_id TEXT NOT NULL, branch TEXT NOT NULL, path TEXT NOT NULL,
    repository TEXT NOT NULL, base_branch TEXT, base TEXT, status TEXT NOT NULL, error TEXT, version BIGINT NOT NULL);
  CREATE INDEX flow_work_tree_workflow ON flow_work_tree (workflow_id);
  CREATE INDEX flow_work_tree_git ON flow_work_tree (git_id);
  CREATE TABLE flow_space (workflow_id TEXT PRIMARY KEY, folder TEXT NOT NULL, version BIGINT NOT NULL);
  CREATE TABLE flow_report (
    work_id TEXT PRIMARY KEY, workflow_id TEXT NOT NULL, body TEXT, version BIGINT NOT NULL);
  CREATE INDEX flow_report_workflow ON flow_report (workflow_id);
  CREATE TABLE flow_checkpoint (
    id TEXT PRIMARY KEY, workflow_id TEXT NOT NULL, work_id TEXT, commits TEXT NOT NULL, created_at BIGINT NOT NULL);
  CREATE INDEX flow_checkpoint_workflow ON flow_checkpoint (workflow_id, created_at))sql";

constexpr const char* kHistory = R"sql(
  CREATE TABLE flow_story (workflow_id TEXT PRIMARY KEY, last BIGINT NOT NULL, version BIGINT NOT NULL);
  CREATE TABLE flow_history (
    workflow_id TEXT NOT NULL, position BIGINT NOT NULL, event_id TEXT NOT NULL, at BIGINT NOT NULL, type TEXT NOT NULL,
    payload TEXT NOT NULL, PRIMARY KEY (workflow_id, position), UNIQUE (workflow_id, event_id));
  INSERT INTO flow_story (workflow_id, last, version) SELECT id, 0, 0 FROM flow_workflow)sql";

constexpr const char* kIntegration = "ALTER TABLE flow_workflow ADD COLUMN integration TEXT";

constexpr const char* kModification = R"sql(
  ALTER TABLE flow_workflow ADD COLUMN modification TEXT;
  ALTER TABLE flow_work ADD COLUMN folder TEXT)sql";
constexpr const char* kAsking = R"sql(
  CREATE TABLE flow_question (
    id TEXT PRIMARY KEY, workflow_id TEXT NOT NULL, work_id TEXT NOT NULL, run TEXT NOT NULL, n BIGINT NOT NULL,
    request BIGINT NOT NULL, mode TEXT NOT NULL, status TEXT NOT NULL, text TEXT NOT NULL, created_at BIGINT NOT NULL,
    answer TEXT, reason TEXT, answered_at BIGINT, version BIGINT NOT NULL);
  CREATE INDEX flow_question_work ON flow_question (work_id, created_at);
  CREATE INDEX flow_question_run ON flow_question (run);
  CREATE INDEX flow_question_workflow ON flow_question (workflow_id);
  CREATE INDEX flow_question_open ON flow_question (id) WHERE status = 'OPEN';
  CREATE TABLE flow_query (
    id TEXT PRIMARY KEY, workflow_id TEXT NOT NULL, work_id TEXT NOT NULL, position BIGINT NOT NULL,
    status TEXT NOT NULL, text TEXT NOT NULL, created_at BIGINT NOT NULL, run TEXT, answer TEXT, error TEXT,
    answered_at BIGINT, version BIGINT NOT NULL);
  CREATE INDEX flow_query_work ON flow_query (work_id, position);
  CREATE INDEX flow_query_workflow ON flow_query (workflow_id);
  CREATE INDEX flow_query_running ON flow_query (id) WHERE status = 'RUNNING';
  CREATE TABLE flow_mailbox (
    run TEXT PRIMARY KEY, workflow_id TEXT NOT NULL, heard BIGINT NOT NULL, version BIGINT NOT NULL);
  CREATE INDEX flow_mailbox_workflow ON flow_mailbox (workflow_id))sql";
constexpr const char* kBounds = R"sql(
  ALTER TABLE flow_workflow ADD COLUMN limits TEXT;
  ALTER TABLE flow_workflow ADD COLUMN warning TEXT;
  CREATE TABLE flow_usage (
    run TEXT PRIMARY KEY, workflow_id TEXT NOT NULL, work_id TEXT NOT NULL, task BIGINT NOT NULL, micros BIGINT,
    milliseconds BIGINT NOT NULL, version BIGINT NOT NULL);
  CREATE INDEX flow_usage_workflow ON flow_usage (workflow_id);
  CREATE INDEX flow_usage_work ON flow_usage (work_id);
  CREATE INDEX flow_work_agent ON flow_work (agent_status))sql";

constexpr const char* kSideBySide = R"sql(
  ALTER TABLE flow_work ADD COLUMN parallel TEXT;
  ALTER TABLE flow_work ADD COLUMN base_checkpoint TEXT;
  ALTER TABLE flow_work ADD COLUMN joined_checkpoint TEXT;
  ALTER TABLE flow_work_tree ADD COLUMN work_id TEXT)sql";

constexpr const char* kPorts = R"sql(
  ALTER TABLE flow_workflow ADD COLUMN ports BIGINT NOT NULL DEFAULT 0;
  CREATE TABLE flow_port (port BIGINT PRIMARY KEY, workflow_id TEXT NOT NULL);
  CREATE INDEX flow_port_workflow ON flow_port (workflow_id))sql";

}  // namespace

std::span<const skald::Migration> migrations() {
  static const std::array steps = {
      skald::Migration{.version = 1, .name = "workflows of agents", .sql = kTables, .postgres_sql = ""},
      skald::Migration{.version = 2, .name = "bringing it home", .sql = kIntegration, .postgres_sql = ""},
      skald::Migration{.version = 3, .name = "questions and queries", .sql = kAsking, .postgres_sql = ""},
      skald::Migration{.version = 4, .name = "what happened", .sql = kHistory, .postgres_sql = ""},
      skald::Migration{.version = 5, .name = "bounds", .sql = kBounds, .postgres_sql = ""},
      skald::Migration{.version = 6, .name = "changing a workflow", .sql = kModification, .postgres_sql = ""},
      skald::Migration{.version = 7, .name = "works side by side", .sql = kSideBySide, .postgres_sql = ""},
      skald::Migration{.version = 8, .name = "ports", .sql = kPorts, .postgres_sql = ""}};
  return steps;
}

}  // namespace agentflow
