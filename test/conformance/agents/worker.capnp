# The bundle of worker.mjs, served by workerd on a port that it chooses.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "agents", worker = .agents)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "agents")],
);

const agents :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-10-01",
  durableObjectNamespaces = [(className = "Agents", uniqueKey = "agents")],
  durableObjectStorage = (inMemory = void),
  bindings = [(name = "AGENTS", durableObjectNamespace = "Agents")],
);
