/** `mcp`: an agent as a server of MCP on standard input and output, in a process of its own. */
import { spawn } from 'node:child_process'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { fakeAgent } from 'a2a-tasks/testing'
import { serveAgent } from './support/agents.js'
import { PROGRAM, runProcess } from './support/program.js'

interface Json {
  readonly [field: string]: unknown
}

/** A host that has started the program. */
function startHost(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { PATH } = process.env
  const child = spawn(process.execPath, [PROGRAM, 'mcp', ...args], {
    env: { PATH, HOME: tmpdir(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const errors = text(child.stderr)
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`)
  const next = async (): Promise<Json> => JSON.parse((await lines.next()).value as string) as Json
  let count = 0
  const ask = async (method: string, params: object = {}): Promise<Json> => {
    send({ jsonrpc: '2.0', id: (count += 1), method, params })
    return await next()
  }
  const end = (): Promise<number | null> => {
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    child.stdin.end()
    return ended
  }
  return { send, next, ask, end, errors, child }
}

const stateless = (params: object = {}): object => ({
  ...params,
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  },
})
const call = (message: string): object => ({ name: 'default', arguments: { message } })

test('a host with a session lists tools, calls them, and asks its user', async () => {
  const { ask, send, next, end } = startHost([await serveAgent()])
  const begun = await ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'host', version: '1' },
  })
  expect(begun).toMatchObject({
    id: 1,
    result: { protocolVersion: '2025-11-25', capabilities: { tools: {} } },
  })
  send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  expect(await ask('tools/list')).toMatchObject({ id: 2, result: { tools: [{ name: 'default' }] } })
  expect(await ask('tools/call', call('spell Hello'))).toMatchObject({
    id: 3,
    result: { content: [{ text: 'Hello' }, { text: expect.stringContaining('"contextId"') as unknown }] },
  })
  const asked = await ask('tools/call', call('form'))
  expect(asked).toMatchObject({ method: 'elicitation/create', params: { message: 'Where?' } })
  send({
    jsonrpc: '2.0',
    id: asked['id'],
    result: { action: 'accept', content: { city: 'Rome', class: 'first' } },
  })
  expect(await next()).toMatchObject({
    id: 4,
    result: {
      content: [{ text: '{"city":"Rome","class":"first"}' }, expect.anything() as unknown],
      isError: false,
    },
  })
  expect(await end()).toBe(0)
})

test('a host without sessions gets tasks, and cancels a call that is not one yet', async () => {
  const { ask, send, next, end } = startHost([await serveAgent()])
  expect(await ask('server/discover', stateless())).toMatchObject({ result: { resultType: 'complete' } })
  const { result } = await ask('tools/call', stateless(call('wait')))
  expect(result).toMatchObject({ resultType: 'task', status: 'working' })
  const { taskId } = result as Json
  expect(await ask('tasks/cancel', stateless({ taskId }))).toMatchObject({
    result: { resultType: 'complete' },
  })
  expect(await ask('tasks/get', stateless({ taskId }))).toMatchObject({ result: { status: 'cancelled' } })
  // Its answer is not sent.
  send({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: stateless(call('wait')) })
  send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'x' } })
  send({ jsonrpc: '2.0', id: 'y', method: 'tools/list', params: stateless() })
  expect(await next()).toMatchObject({ id: 'y' })
  expect(await end()).toBe(0)
})

test('the end of the input ends the program, and leaves the task of a session alone', async () => {
  const url = await serveAgent()
  const { ask, send, end } = startHost([url])
  await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {} })
  const context = { progressToken: 'p' }
  send({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { ...call('wait'), _meta: context } })
  const client = await A2AClient.connect(url)
  const working = async (): Promise<number> => (await client.listTasks({ state: 'working' })).tasks.length
  await expect.poll(working).toBe(1)
  expect(await end()).toBe(0)
  expect(await working()).toBe(1)
})

test('what is no message is answered, and the next one is read', async () => {
  const { child, next, ask } = startHost([await serveAgent()])
  child.stdin.write('{\n\n"x"\n[]\n')
  for (const code of [-32700, -32700, -32600]) expect(await next()).toMatchObject({ error: { code } })
  expect(await ask('nothing')).toMatchObject({ id: 1, error: { code: -32601 } })
})

test('calls with the credentials of the command line, and says why it cannot', async () => {
  const agent = await serveAgent({ token: 'secret' })
  const { ask } = startHost([agent], { A2A_BEARER: 'secret' })
  expect(await ask('tools/call', call('hi'))).toMatchObject({ result: { isError: false } })
  const { code, stdout, stderr } = await runProcess(['mcp', 'http://127.0.0.1:9'])
  expect([code === 0, stdout]).toEqual([false, ''])
  expect(stderr).not.toBe('')
})

test('says each reason once for which its agent cannot be reached any more', async () => {
  const served = createServer()
  await new Promise<void>((resolve) => served.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(served.address() as AddressInfo).port}`
  const { card } = fakeAgent('Hi', { card: { url } })
  served.on('request', (_, response: ServerResponse) => response.end(JSON.stringify(card)))
  const { ask, end, errors } = startHost([url])
  expect(await ask('tools/list')).toMatchObject({ result: { tools: [{ name: 'default' }] } })
  served.closeAllConnections()
  await new Promise((resolve) => served.close(resolve))
  for (let count = 0; count < 2; count += 1)
    expect(await ask('tools/call', call('hi'))).toMatchObject({
      error: { message: expect.anything() as unknown },
    })
  await end()
  const lines = (await errors).split('\n').filter((line) => line !== '')
  // The first call may find its connection closed, and the second one none.
  for (const line of lines) expect(line).toMatch(/^A request has failed: .*cannot be reached/)
  expect(lines.length).toBeGreaterThan(0)
  expect(new Set(lines).size).toBe(lines.length)
})
