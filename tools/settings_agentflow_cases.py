"""Settings of agentflow. Agents outlive a server that is killed, so each case sees to it that its own have ended."""
import fcntl
import subprocess

from settings_kit import until
from settings_steps import case


def repository(given):
    folder = given.folder / "repository"
    folder.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words], cwd=folder, check=True)
    return folder


def begin(server, git, script):
    """A workflow of one task, started."""
    task = {"name": "one", "tasks": [{"prompt": script}]}
    flow = server.post("/agentflow/workflows", {"name": "flow", "gitRefs": [{"gitId": git}], "works": [task]})["id"]
    server.post(f"/agentflow/workflows/{flow}/start", {})
    return flow


def add_repository(server, folder):
    return server.post("/agentflow/gits", {"name": "repository", "path": str(folder)})["id"]


def two_agents(given):
    """Whether the second of two agents of one repository has to wait."""
    server = given.serve(services="agentflow")
    git = add_repository(server, repository(given))
    gate = given.folder / "gate"
    flows = [begin(server, git, f"while [ ! -e {gate} ]; do sleep 0.02; done") for _ in range(2)]
    waiting = "/api/sagas?type=agentflow.task&status=WAITING"
    until(lambda: server.get(waiting)["items"] or len(server.get("/agentflow/agents")["running"]) == 2,
          "two agents, or one that waits")
    seen = bool(server.get(waiting)["items"])
    gate.touch()
    for flow in flows:
        until(lambda: server.get(f"/agentflow/workflows/{flow}")["status"] == "COMPLETED", "the end of a workflow")
    return seen


@case("agentflow.agents_max", 1)
def agentflow_agents_max(given):
    return two_agents(given)


@case("agentflow.agents_per_machine", 1)
def agentflow_agents_per_machine(given):
    return two_agents(given)


@case("agentflow.agents_per_repository", 1)
def agentflow_agents_per_repository(given):
    return two_agents(given)


def scripted(given, script):
    """How a workflow of one scripted task and one more ends."""
    server = given.serve(services="agentflow")
    git = add_repository(server, repository(given))
    works = [{"name": "one", "tasks": [{"prompt": script}]}, {"name": "two", "tasks": [{"prompt": "say end"}]}]
    flow = server.post("/agentflow/workflows", {"name": "flow", "agent": "scripted", "gitRefs": [{"gitId": git}],
                                                "works": works})["id"]
    server.post(f"/agentflow/workflows/{flow}/start", {})
    path = f"/agentflow/workflows/{flow}"
    until(lambda: server.get(path)["status"] in ("COMPLETED", "FAILED"), "the end of a workflow")
    return server.get(path)


@case("agentflow.cost_max", 1)
def agentflow_cost_max(given):
    return "LIMIT_REACHED" in scripted(given, "cost 2").get("error", "")


@case("agentflow.workflow_time_max", "1s", waits=True)
def agentflow_workflow_time_max(given):
    return "LIMIT_REACHED" in scripted(given, "wait 2").get("error", "")


@case("agentflow.ports", "28123-28124")
def agentflow_ports(given):
    server = given.serve(services="agentflow")
    git = add_repository(server, repository(given))
    flow = server.post("/agentflow/workflows", {"name": "flow", "ports": 1, "gitRefs": [{"gitId": git}], "works": [
        {"name": "one", "tasks": [{"prompt": "echo $SKALD_PORT_1"}]}]})["id"]
    server.post(f"/agentflow/workflows/{flow}/start", {})
    until(lambda: server.get(f"/agentflow/workflows/{flow}")["status"] == "COMPLETED", "the end of a workflow")
    work = server.get(f"/agentflow/workflows/{flow}")["works"][0]["id"]
    return server.call("GET", f"/agentflow/works/{work}/tasks/1/output")[1] in (28123, 28124)


@case("agentflow.secret_variables", "PATH")
def agentflow_secret_variables(given):
    server = given.serve(services="agentflow")
    flow = begin(server, add_repository(server, repository(given)), "echo path:$PATH")
    until(lambda: server.get(f"/agentflow/workflows/{flow}")["status"] == "COMPLETED", "the end of a workflow")
    work = server.get(f"/agentflow/workflows/{flow}")["works"][0]["id"]
    return server.call("GET", f"/agentflow/works/{work}/tasks/1/output")[1] == b"path:***\n"


@case("agentflow.agents", "…")
def agentflow_agents(given):
    file = given.folder / "agents.toml"
    file.write_text('[mine]\ncommand = ["true"]\n')
    given.value = str(file)
    return "mine" in given.serve(services="agentflow").get("/agentflow/agents")["presets"]


@case("agentflow.skip_mcp_check", True)
def agentflow_skip_mcp_check(given):
    server = given.serve(services="agentflow")
    return server.call("POST", "/agentflow/mcp-servers", {"name": "silent", "command": "false"})[0] == 201


@case("agentflow.git_timeout", "1s", waits=True)
def agentflow_git_timeout(given):
    """Who waits for a repository that another process holds gives up after that time."""
    folder = repository(given)
    server = given.serve(services="agentflow")
    git = add_repository(server, folder)
    with open(folder / ".git" / "skald.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        flow = begin(server, git, "true")
        shown = until(lambda: (lambda f: f if f["status"] == "CREATED" else None)(
            server.get(f"/agentflow/workflows/{flow}")), "the start that is taken back")
    return "GIT_BUSY" in shown["error"]
