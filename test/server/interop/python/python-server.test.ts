/** This library's client against the recorded answers of the official Python server, over HTTP. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { A2AClient } from 'a2a-tasks/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collect, rejection } from '../support/agent.js'
import { CONTEXT_ID, SERVERS, TASK_ID, type Answer, type PythonServer } from './server-answers.js'

interface Call {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly id?: string }
}

async function bodyOf(request: IncomingMessage): Promise<Call> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text === '' ? {} : (JSON.parse(text) as Call)
}

/** The answer to a request: that of the very task first, then that of the method. */
function find({ answers }: PythonServer, path: string, request: IncomingMessage, call: Call): Answer {
  const { method = '' } = call
  const keys = [
    `${method} ${call.params?.id ?? ''}`,
    method,
    `${request.method ?? ''} ${path.split('?')[0] ?? ''}`,
  ]
  const found = keys.map((key) => answers[key]).find((answer) => answer !== undefined)
  if (found === undefined) throw new Error(`No answer is recorded for ${keys.join(' or ')}`)
  return found
}

/** Answers as recorded until the test is over. Returns a client that has read the card. */
async function connect(recorded: PythonServer): Promise<A2AClient> {
  const server = createServer((request, response) => {
    void bodyOf(request).then((call) => {
      const path = request.url ?? ''
      if (path === '/.well-known/agent-card.json') {
        response.setHeader('content-type', 'application/json').end(JSON.stringify(recorded.card(url)))
        return
      }
      const { status = 200, headers, text } = find(recorded, path, request, call)
      response.writeHead(status, headers).end(text.replaceAll('$id', JSON.stringify(call.id)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return A2AClient.connect(url)
}

const HELLO = { artifactId: 'a1', parts: [{ text: 'Hello World' }] }

describe.each(SERVERS)('the server of $name', (server) => {
  test('its card says the version, and a message is answered with its task', async () => {
    const client = await connect(server)
    expect(client.interface.protocolVersion).toMatch(server.version)
    const sent = await client.send('hello')
    expect(sent).toMatchObject({
      type: 'task',
      task: { id: TASK_ID, contextId: CONTEXT_ID, state: 'completed' },
    })
    if (sent.type === 'task') {
      expect(sent.task.artifacts).toMatchObject([HELLO])
      expect(sent.task.messages).toMatchObject([{ role: 'user', parts: [{ text: 'hello' }] }])
    }
  })

  test('its streams are read to the end, past pings, CRLF and data of several lines', async () => {
    const events = await collect((await connect(server)).stream('hello'))
    expect(events.map((event) => ('state' in event ? event.state : event.type))).toEqual([
      ...['task', 'working', 'artifact', 'completed'],
    ])
    expect(events[0]).toMatchObject({ task: { id: TASK_ID, state: 'submitted' } })
    expect(events[2]).toMatchObject({ artifact: HELLO, append: false, lastChunk: true })
  })

  test('a task is read and canceled, and an unknown one leads to an error', async () => {
    const client = await connect(server)
    expect(await client.getTask(TASK_ID)).toMatchObject({ id: TASK_ID, state: 'completed' })
    expect(await client.cancelTask(TASK_ID)).toMatchObject({ id: TASK_ID, state: 'canceled' })
    expect(await rejection(() => client.getTask('no-such-task'))).toMatchObject({ code: server.notFound })
  })
})

describe.each(SERVERS.filter(({ version }) => version === '1.0'))('the server of $name', (server) => {
  test('its lists write every empty field, and are read', async () => {
    const page = await (await connect(server)).listTasks()
    expect(page).toMatchObject({ tasks: [{ id: TASK_ID, state: 'completed', artifacts: [] }] })
  })

  test('a webhook is registered and deleted', async () => {
    const client = await connect(server)
    const config = { id: 'hook', url: 'https://client.example/hook', token: 'secret' }
    expect(await client.createPushConfig(TASK_ID, config)).toMatchObject({ taskId: TASK_ID, config })
    await expect(client.deletePushConfig(TASK_ID, 'hook')).resolves.toBeUndefined()
  })
})
