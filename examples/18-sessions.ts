/** Runs tasks of other agents in the sessions of a corvid-agent: sends, polls and times out, over HTTP routes. */
import assert from 'node:assert/strict'
import { invokeRemoteAgent } from 'a2a-tasks/client'
import { createInboundHandler } from 'a2a-tasks/compat'
import { ManualClock } from 'a2a-tasks/testing'

type Callback = (sessionId: string, event: unknown) => void

// Your program: a database, and a manager of its sessions. These sessions return their prompt in upper case.
const db = { agents: [{ id: 'ada', defaultProjectId: 'project-1' }], sessions: [] as string[] }
const listeners = new Map<string, Callback>()
const stopped: string[] = []
const processManager = {
  subscribe(id: string, callback: Callback) {
    listeners.set(id, callback)
    return () => listeners.delete(id)
  },
  startProcess({ id }: { id: string }, prompt: string) {
    if (prompt === 'Sleep') return
    queueMicrotask(() => {
      const text = prompt.toUpperCase()
      listeners.get(id)?.(id, { type: 'assistant', message: { content: [{ type: 'text', text }] } })
      listeners.get(id)?.(id, { type: 'session_exited' })
    })
  },
  stopProcess: (id: string) => stopped.push(id),
}

const clock = new ManualClock()
const inbound = createInboundHandler({
  db,
  processManager,
  listAgents: ({ agents }) => agents,
  createSession: ({ sessions }, { name }) => ({ id: `session-${sessions.push(name)}` }),
  clock,
})

// To serve both routes on a port: `createServer(toNodeListener(inbound.fetch)).listen(3000)`.
const fetch = (url: string, init?: RequestInit) => inbound.fetch(new Request(url, init))

const answer = await invokeRemoteAgent('https://ada.example', 'Hello', { fetch })
assert.deepEqual([answer.success, answer.responseText], [true, 'HELLO'])
console.log(`${db.sessions[0]}: ${answer.responseText}`)

// A task that exceeds its timeout fails, and its session is stopped.
const { id, state } = inbound.handleTaskSend({ message: 'Sleep', timeoutMs: 5_000 })
assert.equal(state, 'working')
clock.advance(5_000)
assert.equal(inbound.handleTaskGet(id)?.state, 'failed')
assert.deepEqual(stopped, ['session-2'])

// Unknown tasks and invalid messages are refused.
assert.equal((await fetch('https://ada.example/a2a/tasks/unknown')).status, 404)
const headers = { 'content-type': 'application/json' }
const blank = await fetch('https://ada.example/a2a/tasks/send', { method: 'POST', headers, body: '{}' })
assert.deepEqual([blank.status, await blank.text()], [400, '{"error":"message is required"}'])

inbound.close()
assert.equal(listeners.size, 0)
