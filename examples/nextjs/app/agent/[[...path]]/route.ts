/** An agent at /agent and below. The double brackets include /agent itself, where JSON-RPC requests go. */
import { createRequestHandler, type RequestHandler } from 'a2a-tasks/server'

function createAgent(): RequestHandler {
  return createRequestHandler({
    card: { name: 'Echo', url: process.env['AGENT_URL'] ?? 'http://localhost:3000/agent' },
    execute: (run) => `You said: ${run.text}`,
  })
}

// `next dev` loads this module again after each edit. The global object keeps the agent and its tasks.
const kept: typeof globalThis & { agent?: RequestHandler } = globalThis
const agent = (kept.agent ??= createAgent())

export const GET = agent.fetch
export const POST = agent.fetch
export const DELETE = agent.fetch
