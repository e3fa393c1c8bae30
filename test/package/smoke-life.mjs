/** The life of a task, with real time, on whatever runtime runs this. Asserts by throwing: that works everywhere. */

import { createServer } from 'node:http'
import { execute, talk } from './smoke-talk.mjs'

/** @param modules `a2a-tasks` as `core`, and of its other paths those named here, however loaded. */
export async function live({ core, client, gateway, server, node, telemetry, testing }) {
  const { A2AError, TaskManager } = core
  const { ManualClock, sequentialIds } = testing
  const tasks = new TaskManager({ taskTimeoutMs: 60_000, pruneIntervalMs: 60_000 })
  const seen = []
  tasks.on('task:stateChange', ({ from, to }) => seen.push(`${from} → ${to}`))

  const { id } = tasks.createTask({ skill: 'count', input: { to: 2 } })
  const stream = readAll(tasks.subscribe(id))
  const done = tasks.waitFor(id, { timeoutMs: 30_000 })
  tasks.updateTask(id, { state: 'working', message: 'Counting' })
  tasks.appendArtifact(id, { artifactId: 'numbers', parts: [{ text: '1' }] })
  tasks.appendArtifact(id, { artifactId: 'numbers', parts: [{ text: '2' }] }, { lastChunk: true })
  tasks.updateTask(id, { state: 'completed', output: { counted: 2 } })
  const task = await done
  equal(task.state, 'completed')
  equal(task.artifacts[0].parts.map(({ text }) => text).join(), '12')
  equal(seen.join(), 'submitted → working,working → completed')
  equal((await stream).map(({ type }) => type).join(), 'snapshot,status,artifact,artifact,output,status')

  const refused = catching(() => tasks.updateTask(id, { state: 'working' }))
  equal(A2AError.is(refused, 'TASK_TERMINAL'), true)

  const hasty = new TaskManager({ taskTimeoutMs: 20 })
  const late = hasty.createTask({ skill: 'sleep' })
  const signal = hasty.signalOf(late.id)
  // Our timers keep no process alive, so something else has to.
  const alive = setInterval(() => undefined, 1_000)
  equal((await hasty.waitFor(late.id)).state, 'failed')
  equal(signal.aborted, true)
  const impatient = await tasks
    .waitFor(tasks.createTask({ skill: 'wait' }).id, { timeoutMs: 20 })
    .catch((e) => e)
  equal(impatient.code, 'WAIT_TIMED_OUT')
  clearInterval(alive)

  const clock = new ManualClock()
  const still = new TaskManager({ clock, generateId: sequentialIds(), taskTimeoutMs: 1_000 })
  equal(still.createTask({ skill: 'sleep' }).id, 'task-1')
  clock.advance(1_000)
  equal(still.getTask('task-1').state, 'failed')

  await serve(server)
  await connect(client, server, node)
  await delegate(gateway, telemetry)
  leaveAlone(tasks)
  return `${typeof Deno === 'object' ? 'Deno' : typeof Bun === 'object' ? 'Bun' : 'Node'} is done`
}

/** An agent, asked over Fetch in memory: its card, an answer by a step that is tried twice, a stream, an error. */
async function serve({ createRequestHandler }) {
  const twice = { timeoutMs: 5_000, retry: { attempts: 2, backoff: { initialMs: 1 } } }
  const handler = createRequestHandler({
    card: { name: 'Echo', url: 'https://echo.example' },
    execute: async (run) => {
      const echo = ({ attempt }) => {
        if (attempt === 1) throw new Error('Not yet')
        return run.text
      }
      return `You said: ${await run.step('echo', echo, twice)}`
    },
  })
  const ask = (path, body) =>
    handler.fetch(
      new Request(`https://echo.example${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        ...(body !== undefined && {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
      }),
    )
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
  equal((await (await ask('/.well-known/agent-card.json')).json()).name, 'Echo')
  const { task } = await (await ask('/message:send', { message })).json()
  equal(task.artifacts[0].parts[0].text, 'You said: hello')
  const events = await (await ask('/message:stream', { message })).text()
  equal(events.match(/(?<=^data: {")\w+/gm).join(), 'task,statusUpdate,artifactUpdate,statusUpdate')
  const refused = await (
    await ask('/', { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } })
  ).json()
  equal(refused.error.code, -32001)
  await handler.close()
}

/** A gateway to a function, by a configuration, with its tasks instrumented but no SDK. */
async function delegate({ A2AGateway, custom, loadGatewayConfig }, { instrumentTasks }) {
  const yaml = `a2a: { agents: [{ id: echo, provider: custom, endpoint: { url: 'http://x' }, capabilities: [{ name: echo, description: Echoes }] }] }`
  const config = await loadGatewayConfig(yaml, { env: {} })
  const gateway = A2AGateway.fromConfig(config, { providers: { custom: custom(({ text }) => text) } })
  instrumentTasks(gateway.tasks)
  const task = await gateway.sendTask('echo', 'hello')
  equal(task.artifacts[0].parts[0].text, 'hello')
  equal(typeof (await gateway.handleOf(task.id)), 'object')
  await gateway.close()
}

/** A client and an agent, over loopback. */
async function connect(client, { createRequestHandler }, { toNodeListener }) {
  const http = createServer()
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${http.address().port}`
  const handler = createRequestHandler({ card: { name: 'Echo', url }, execute })
  http.on('request', toNodeListener(handler.fetch))
  await talk(client, url)
  await handler.close()
  // Connections that the client keeps for its next request.
  http.closeAllConnections()
  http.close()
}

/** Leaves a live task with a timeout, a reader and a waiter behind. The process has ten seconds to end by itself. */
function leaveAlone(tasks) {
  const { id } = tasks.createTask({ skill: 'wait' })
  void readAll(tasks.subscribe(id))
  void tasks.waitFor(id, { timeoutMs: 60_000 })
  const tooLate = () => {
    throw new Error('Ten seconds later, the process is still alive')
  }
  const timer = setTimeout(tooLate, 10_000)
  if (typeof timer === 'object') timer.unref()
  else Deno.unrefTimer(timer)
}

async function readAll(stream) {
  const events = []
  for await (const event of stream) events.push(event)
  return events
}

function catching(call) {
  try {
    call()
  } catch (error) {
    return error
  }
  throw new Error(`${call} did not throw`)
}

function equal(actual, expected) {
  if (actual !== expected) throw new Error(`Expected ${expected}, got ${actual}`)
}
