/** Tasks from other agents for the sessions of a corvid-agent: sent, polled, timed out, over plain HTTP routes. */
import assert from 'node:assert/strict'
import { A2AError } from 'a2a-tasks'
import { invokeRemoteAgent } from 'a2a-tasks/client'
import { createInboundHandler } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'

type Callback = (sessionId: string, event: unknown) => void

// What the program has already: a database, and what runs its sessions. This one shouts.
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

// The two routes.
async function route(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (request.method === 'POST' && pathname === '/a2a/tasks/send') {
    // handleTaskSend checks what it is given.
    const data = (await request.json()) as { params?: { message: string } } & { message: string }
    try {
      return Response.json(inbound.handleTaskSend(data.params ?? data))
    } catch (error) {
      if (!A2AError.is(error, 'INVALID_PARAMS')) throw error
      return Response.json({ error: error.message }, { status: 400 })
    }
  }
  const task = inbound.handleTaskGet(decodeURIComponent(pathname.replace('/a2a/tasks/', '')))
  return task === null ? Response.json({ error: 'Task not found' }, { status: 404 }) : Response.json(task)
}
const fetch = (url: string, init?: RequestInit) => route(new Request(url, init))

const answer = await invokeRemoteAgent('https://ada.example', 'Hello', { fetch })
assert.deepEqual([answer.success, answer.responseText], [true, 'HELLO'])
console.log(`${db.sessions[0]}: ${answer.responseText}`)

// A task that takes too long fails, and its session is stopped.
const { id, state } = inbound.handleTaskSend({ message: 'Sleep', timeoutMs: 5_000 })
assert.equal(state, 'working')
clock.advance(5_000)
assert.equal(inbound.handleTaskGet(id)?.state, 'failed')
assert.deepEqual(stopped, ['session-2'])

// What is not a task is answered as one expects.
assert.equal((await fetch('https://ada.example/a2a/tasks/nobody')).status, 404)
const blank = await fetch('https://ada.example/a2a/tasks/send', { method: 'POST', body: '{"params":{}}' })
assert.deepEqual([blank.status, await blank.text()], [400, '{"error":"message is required"}'])

inbound.close()
assert.equal(listeners.size, 0)
