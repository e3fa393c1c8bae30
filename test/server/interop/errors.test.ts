import { describe, expect, test } from 'vitest'
import { connect, faultOf, LINES, say, taskOf, type Line, type Peer } from './peers.js'
import { collect, gate, rejection, serve, spyFetch } from './support/agent.js'

/** What an SDK makes of an error that its version of the protocol, or it itself, has no class for. */
function expectedBy({ sdk, speaks, binding }: Line, name: string): string {
  const codes: Readonly<Record<string, number>> = {
    RequestMalformedError: -32602,
    ExtensionSupportRequiredError: -32600,
    VersionNotSupportedError: -32600,
  }
  const code = codes[name]
  if (speaks === '1.0' || code === undefined) return name
  if (sdk === '0.3.14') return `code ${code}`
  // SDK 1.3.0 takes "Invalid Request" for a malformed request, but not over HTTP+JSON.
  return code === -32600 && binding === 'HTTP+JSON' ? `code ${code}` : 'RequestMalformedError'
}

const EXTENSION = 'https://extensions.example/required/v1'

const ended = { execute: () => 'done' }

describe.each(LINES)('SDK $sdk, A2A $speaks over $binding', (line) => {
  async function fault(run: () => unknown): Promise<string> {
    return faultOf(await rejection(run))
  }

  async function withEnded(): Promise<{ peer: Peer; id: string }> {
    const { url } = await serve(ended)
    const peer = await connect(line, url)
    return { peer, id: taskOf(await peer.send(say('go'))).id }
  }

  test.each(['no-such-task', 'a:b/c?d=ü#e', '...', 'constructor'])('no task: %s', async (id) => {
    const { url } = await serve(ended)
    const peer = await connect(line, url)
    const expected = 'TaskNotFoundError'
    expect(await fault(() => peer.get(id))).toBe(expected)
    expect(await fault(() => peer.cancel(id))).toBe(expected)
    expect(await fault(() => collect(peer.subscribe(id)))).toBe(expected)
    expect(await fault(() => peer.send(say('x', { taskId: id })))).toBe(expected)
  })

  test('a stream about no task', async () => {
    const { url } = await serve(ended)
    const peer = await connect(line, url)
    const stream = peer.stream(say('x', { taskId: 'no-such-task' }))
    expect(await fault(() => collect(stream))).toBe('TaskNotFoundError')
  })

  test('a task that has ended is not canceled', async () => {
    const { peer, id } = await withEnded()
    expect(await fault(() => peer.cancel(id))).toBe('TaskNotCancelableError')
  })

  test('a task that has ended takes no message', async () => {
    const { peer, id: taskId } = await withEnded()
    expect(await fault(() => peer.send(say('more', { taskId })))).toBe('UnsupportedOperationError')
    expect((await peer.get(taskId)).history).toHaveLength(1)
  })

  test('a task that has ended takes no message that is answered with a stream', async () => {
    const { peer, id: taskId } = await withEnded()
    const stream = peer.stream(say('more', { taskId }))
    expect(await fault(() => collect(stream))).toBe('UnsupportedOperationError')
  })

  test('a task that has ended has no stream; in 0.3, its stream is the task', async () => {
    const { peer, id } = await withEnded()
    if (line.speaks === '1.0') {
      expect(await fault(() => collect(peer.subscribe(id)))).toBe('UnsupportedOperationError')
    } else {
      expect(await collect(peer.subscribe(id))).toEqual([{ task: await peer.get(id) }])
    }
  })

  test('a task in another context takes no message', async () => {
    const { url } = await serve({
      async execute(run) {
        await run.requireInput('?')
      },
    })
    const peer = await connect(line, url)
    const { id: taskId } = taskOf(await peer.send(say('go')))
    const said = say('x', { taskId, contextId: 'another' })
    expect(await fault(() => peer.send(said))).toBe(expectedBy(line, 'RequestMalformedError'))
    const error = await rejection(() => peer.send(said))
    expect(String(error)).toContain('message.contextId is not the context of this task')
  })

  test('a message that no user sent, and one with nothing in it', async () => {
    const { url, handler } = await serve(ended)
    const peer = await connect(line, url)
    const expected = expectedBy(line, 'RequestMalformedError')
    expect(await fault(() => peer.send(say('x', { role: 'ROLE_AGENT' })))).toBe(expected)
    expect(await fault(() => peer.send({ parts: [] }))).toBe(expected)
    expect(handler.tasks.countTasks()).toBe(0)
  })

  test('a task that is worked on may refuse messages', async () => {
    const go = gate()
    const { url } = await serve({
      async execute(run) {
        run.start()
        await go.opened
      },
      onFollowUp: 'reject',
    })
    const peer = await connect(line, url)
    const { id: taskId } = taskOf(await peer.send(say('go'), { returnImmediately: true }))
    expect(await fault(() => peer.send(say('more', { taskId })))).toBe('UnsupportedOperationError')
    go.open()
  })

  test('push notifications', async () => {
    const { url } = await serve(ended)
    const { push } = await connect(line, url)
    for (const operation of Object.values(push)) {
      expect(await fault(operation)).toBe('PushNotificationNotSupportedError')
    }
  })

  test('an agent that does not stream', async () => {
    const { url } = await serve({ ...ended, card: () => ({ capabilities: { streaming: false } }) })
    const peer = await connect(line, url)
    expect(await fault(() => collect(peer.subscribe('any')))).toBe('UnsupportedOperationError')
    // The SDKs read the card and send a message that waits.
    const [only] = await collect(peer.stream(say('x')))
    expect(taskOf(only).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('an extended card that is announced and not there', async () => {
    const capabilities = { streaming: true, extendedAgentCard: true }
    const { url } = await serve({ ...ended, card: () => ({ capabilities }) })
    const peer = await connect(line, url)
    const prefix = line.sdk === '0.3.14' ? 'Authenticated' : ''
    expect(await fault(() => peer.extendedCard())).toBe(
      `${prefix}${prefix ? 'ExtendedCard' : 'ExtendedAgentCard'}NotConfiguredError`,
    )
  })

  test('an extension that is required', async () => {
    const capabilities = { streaming: true, extensions: [{ uri: EXTENSION, required: true }] }
    const { url } = await serve({ ...ended, card: () => ({ capabilities }) })
    const peer = await connect(line, url)
    const expected = expectedBy(line, 'ExtensionSupportRequiredError')
    expect(await fault(() => peer.send(say('x')))).toBe(expected)
    expect(await fault(() => collect(peer.stream(say('x'))))).toBe(expected)
    const sent = await peer.send(say('x'), { extensions: [EXTENSION] })
    expect(taskOf(sent).status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('a version that is not spoken', async () => {
    const { url } = await serve(ended)
    const headers: Record<string, string> = {}
    const { fetchImpl } = spyFetch(headers)
    const peer = await connect(line, url, fetchImpl)
    headers['A2A-Version'] = '9.9'
    expect(await fault(() => peer.get('any'))).toBe(expectedBy(line, 'VersionNotSupportedError'))
    // Patches do not count.
    headers['A2A-Version'] = `${line.speaks}.7`
    expect(await fault(() => peer.get('any'))).toBe('TaskNotFoundError')
  })

  test('a body that is not declared as JSON', async () => {
    const { url } = await serve(ended)
    const headers: Record<string, string> = {}
    const { fetchImpl } = spyFetch(headers)
    const peer = await connect(line, url, fetchImpl)
    headers['Content-Type'] = 'text/plain'
    expect(await fault(() => peer.send(say('x')))).toBe('ContentTypeNotSupportedError')
  })

  test('an agent that has too much to do', async () => {
    const busy = gate()
    const { url, handler } = await serve({
      async execute(run) {
        run.start()
        await busy.opened
      },
      limits: { maxRuns: 1 },
    })
    const peer = await connect(line, url)
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
    const params = { message, configuration: { returnImmediately: true } }
    await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
    const error = await rejection(() => peer.send(say('y')))
    expect(String(error)).toContain('The agent has too much to do; try again later')
    busy.open()
  })

  test('an internal error is not shown to the client', async () => {
    const { url, handler, errors } = await serve(ended)
    const peer = await connect(line, url)
    handler.tasks.peekTask = () => {
      throw new Error('connect postgres://admin:s3cret@db')
    }
    for (const run of [() => peer.get('x'), () => peer.cancel('x'), () => collect(peer.subscribe('x'))]) {
      const error = await rejection(run)
      expect(String(error)).toContain('Internal error')
      expect(JSON.stringify(error)).not.toContain('s3cret')
    }
    expect(errors.splice(0)).toHaveLength(3)
  })
})
