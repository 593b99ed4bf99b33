// What can be set.
#include "cli/settings.h"

namespace skald::cli {
namespace {

constexpr Setting kSettings[] = {
    {"listen", Kind::text, "127.0.0.1:8080", "address and port of the API; port 0 takes a free one", 3, 300},
    {"data", Kind::text, "data", "folder for databases, secrets and dead letters", 1, 4096},
    {"db", Kind::url, "", "sqlite:DIR, postgresql://… or memory:; empty: sqlite in the data folder", 0, 4096},
    {"bus", Kind::url, "memory:", "what carries events between services: nats://… or tls://…; memory: is this process",
     1, 4096},
    {"nats.user", Kind::text, "", "the user that NATS knows, where it asks for a password", 0, 300},
    {"nats.password", Kind::secret, "", "and that password", 1, 1024},
    {"nats.token", Kind::secret, "", "what NATS asks for instead", 1, 1024},
    {"nats.creds", Kind::text, "", "or a file with NATS credentials", 0, 4096},
    {"nats.nkey", Kind::text, "", "or the public key that NATS knows", 0, 300},
    {"nats.nkey_seed", Kind::text, "", "and a file with its seed", 0, 4096},
    {"nats.ca", Kind::text, "", "authorities that may vouch for NATS, a file; empty: the system's", 0, 4096},
    {"nats.cert", Kind::text, "", "the certificate that is shown to NATS, a file", 0, 4096},
    {"nats.key", Kind::text, "", "and its key, a file", 0, 4096},
    {"nats.timeout", Kind::duration, "30s", "how long a service of another process may take to answer", 1, 300},
    {"services", Kind::list, "all", "the services to run, separated by commas", 1, 1000},
    {"log.level", Kind::choice, "info", "the least that is logged", 0, 0, "debug|info|warn|error|critical"},
    {"auth.secret", Kind::secret, "", "signs and verifies tokens; long and random", kSecretBytesMin, 1024},
    {"auth.audience", Kind::text, "", "who this server is to tokens: they must name it in aud; empty: they name nobody",
     0, 300},
    {"auth.issuer", Kind::text, "", "who makes the tokens: they must name it in iss; empty: anybody with the secret", 0,
     300},
    {"token", Kind::secret, "", "the token that commands show a server, where it is not their own", kSecretBytesMin,
     4096},
    {"http.threads", Kind::integer, "64", "requests that are worked on at once", 1, 512},
    {"http.idempotency_retention", Kind::duration, "1d", "how long an Idempotency-Key and its answer are kept", 60,
     3'650 * 86'400},
    {"http.allowed_hosts", Kind::list, "", "further Host names that browsers may use, separated by commas", 0, 4096},
    {"http.connections_max", Kind::integer, "2048", "clients' connections; fewer where too few files may be open", 1,
     1'000'000},
    {"http.peer_share", Kind::fraction, "0.5",
     "the share of connections and of room for bodies that one address may take"},
    {"http.metrics_token", Kind::boolean, "false", "whether /metrics wants a token of an admin or of the system", 0, 0},
    {"http.rate_per_subject", Kind::integer, "0", "requests a second that one caller may send; 0: any number", 0,
     1'000'000},
    {"http.rate_per_address", Kind::integer, "0", "and those that may come from one address", 0, 1'000'000},
    {"http.streams_max", Kind::integer, "256", "event streams that are open at once", 1, 100'000},
    {"http.streams_per_subject", Kind::integer, "64", "and those of one caller", 1, 100'000},
    {"postgres.connections", Kind::integer, "16", "sessions of this process on PostgreSQL", 3, 200},
    {"postgres.listen", Kind::url, "",
     "where db leads through PgBouncer: a URL of the server itself, for what needs a session", 0, 4096},
    {"postgres.transaction_timeout", Kind::duration, "30s", "how long a statement of a transaction may run", 1, 3'600},
    {"postgres.transaction_wait", Kind::duration, "10s", "how long a transaction may wait for a free session", 1,
     3'600},
    {"outbox.batch", Kind::integer, "1024", "events that are worked on in one transaction", 1, 10'000},
    {"outbox.retries_max", Kind::integer, "3", "retries after the first attempt", 0, 100},
    {"outbox.backoff_first", Kind::duration, "30s", "wait before the first retry; doubled for each further one", 0,
     86'400},
    {"outbox.on_dead_letter", Kind::choice, "go_on", "what later events of a dead letter's key do", 0, 0,
     "go_on|block"},
    {"outbox.hash_key", Kind::secret, "", "makes content hashes HMACs; never change it while events are pending",
     kSecretBytesMin, 1024},
    {"outbox.lease", Kind::duration, "3s", "how long a silent worker keeps its share (PostgreSQL)", 2, 300},
    {"outbox.retention", Kind::duration, "7d", "how long completed entries are kept", 60, 3'650 * 86'400},
    {"crash.retries", Kind::durations, "10m,1h,6h",
     "when a step or handler that killed its process three times is tried again, alone; never: a person decides", 1,
     3'650 * 86'400},
    {"donation.webhook", Kind::url, "", "where donations are announced; empty: nowhere", 0, 2048},
    {"donation.webhook_secret", Kind::secret, "",
     "signs announcements: whsec_ and base64, or raw; empty: one is made in the data folder", kSecretBytesMin, 1024},
    {"donation.webhook_format", Kind::choice, "cloudevent", "the body of announcements", 0, 0, "cloudevent|discord"},
    {"order.provider", Kind::url, "", "the payment provider's URL; empty: serve starts a sandbox of its own", 0, 2048},
    {"booking.timeout", Kind::duration, "60s", "how long a booking may wait for its seats", 1, 86'400},
    {"booking.lock_tries", Kind::integer, "3", "tries in all to take seats of a slot that others change meanwhile", 1,
     100},
    {"booking.event_tries", Kind::integer, "5", "tries in all of a service of booking to handle an event of another one", 1, 100},
    {"booking.refund_last_day", Kind::integer, "0", "percent paid back to who cancels in the last 24 hours", 0, 100},
    {"booking.charge_max", Kind::integer, "0", "minor units above which a charge is declined; 0: none is", 0,
     1'000'000'000'000},
    {"booking.webhook", Kind::url, "", "where notifications to customers go; empty: to the log", 0, 2048},
    {"booking.webhook_secret", Kind::secret, "",
     "signs notifications: whsec_ and base64, or raw; empty: the one of the data folder", kSecretBytesMin, 1024},
    {"agentflow.agents_max", Kind::integer, "8", "agents that run at once, in all", 1, 1'000},
    {"agentflow.cost_max", Kind::integer, "0", "what a workflow may cost that says no limit; 0: no limit", 0,
     1'000'000'000},
    {"agentflow.workflow_time_max", Kind::duration, "0s",
     "how long the agents of a workflow may run that says no limit; 0s: no limit", 0, 366 * 86'400},
    {"agentflow.agents_per_machine", Kind::integer, "0",
     "agents that run at once of servers that share this data folder; 0: agents_max alone counts", 0, 1'000},
    {"agentflow.agents_per_repository", Kind::integer, "0",
     "agents that run at once in one repository, the first of their workflow; 0: agents_max alone counts", 0, 1'000},
    {"agentflow.ports", Kind::text, "20000-29999",
     "ports that workflows may have of their own; servers of one machine need a range each; empty: none", 0, 11},
    {"agentflow.secret_variables", Kind::list, "*_TOKEN,*_KEY,*_SECRET,*PASSWORD*",
     "variables of agents whose values are *** in all that they say; * stands for any text", 0, 4096},
    {"agentflow.agents", Kind::text, "", "a TOML file of agent presets, beside shell; empty: none", 0, 4096},
    {"agentflow.skip_mcp_check", Kind::boolean, "false", "use MCP servers without asking them first", 0, 0},
    {"agentflow.git_timeout", Kind::duration, "120s", "how long one call of git may take", 1, 3'600},
    {"sagas.threads", Kind::integer, "16", "sagas that each service works on at once; a call keeps one of them", 1,
     512},
    {"sagas.patience", Kind::duration, "5m",
     "how long an undo, an unanswered call or a step behind the pivot is tried before a person is called", 1, 86'400},
    {"sagas.retention", Kind::duration, "30d", "how long ended sagas are kept", 60, 3'650 * 86'400},
    {"history.record", Kind::boolean, "false", "record what sagas read and write, for skald check", 0, 0},
    {"history.retention", Kind::duration, "1d", "how long that is kept", 60, 3'650 * 86'400},
    {"webhook.allow_private", Kind::boolean, "false", "let webhooks reach private and loopback addresses", 0, 0},
    {"otlp.endpoint", Kind::url, "", "the OpenTelemetry collector that gets traces, http://host:4318; empty: none", 0,
     2048},
    {"otlp.headers", Kind::secret, "", "headers for it, name=value and separated by commas", 1, 4096},
    {"otlp.service", Kind::text, "", "the name under which they show; empty: the services that run", 0, 200},
    {"otlp.ratio", Kind::fraction, "1", "the share that is traced of requests that bring no trace, from 0 to 1"},
    {"alert.webhook", Kind::url, "", "who is told when a dead letter cannot be kept, or an event was tampered with", 0,
     2048},
};

}  // namespace

std::span<const Setting> known_settings() { return kSettings; }

const Setting* find_setting(std::string_view path) {
  for (const Setting& setting : kSettings)
    if (setting.path == path) return &setting;
  return nullptr;
}

std::string environment_name(const Setting& setting) {
  std::string out = "SKALD_";
  for (const char c : setting.path)
    out += c == '.' ? '_' : (c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  return out;
}

std::string flag_name(const Setting& setting) {
  if (setting.kind == Kind::secret) return "";
  std::string out(setting.path);
  for (char& c : out)
    if (c == '.' || c == '_') c = '-';
  return out;
}

std::string allowed_values(const Setting& setting) {
  switch (setting.kind) {
    case Kind::integer:
      return "a whole number from " + std::to_string(setting.low) + " to " + std::to_string(setting.high);
    case Kind::fraction: return "a number from 0 to 1, such as 0.1";
    case Kind::boolean: return "true or false";
    case Kind::duration:
      return "a time such as 500ms, 30s, 5m, 24h or 7d, from " + std::to_string(setting.low) + "s to " +
             std::to_string(setting.high) + "s";
    case Kind::durations: return "times such as 10m,1h,6h, separated by commas, or never";
    case Kind::choice: {
      std::string out = "one of ";
      for (const char c : setting.choices) out += c == '|' ? std::string(", ") : std::string(1, c);
      return out;
    }
    case Kind::secret:
      return std::to_string(setting.low) + " to " + std::to_string(setting.high) +
             " random bytes, or left out; `openssl rand -hex 32` makes some";
    default: return "a text of " + std::to_string(setting.low) + " to " + std::to_string(setting.high) + " bytes";
  }
}

}  // namespace skald::cli
