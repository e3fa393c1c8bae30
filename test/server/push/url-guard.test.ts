import { A2AError } from 'a2a-tasks'
import type { PushOptions } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { pushAgent, receiver, until } from './support/push.js'

function refusal(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => 'nothing was refused',
    (error: unknown) => String(error),
  )
}

describe('a webhook may not be', () => {
  test.each([
    ...[
      'http://127.0.0.1/',
      'http://127.1/',
      'http://2130706433/',
      'http://0x7f000001/',
      'http://0177.0.0.1/',
    ],
    ...[
      'http://0.0.0.0/',
      'http://10.1.2.3/',
      'http://172.16.0.1/',
      'http://192.168.1.1/',
      'http://100.64.0.1/',
    ],
    ...[
      'http://169.254.169.254/latest/meta-data/',
      'http://[fd00:ec2::254]/',
      'http://metadata.google.internal/',
    ],
    ...['http://[::1]/', 'http://[::]/', 'http://[::ffff:127.0.0.1]/', 'http://[::ffff:a00:1]/'],
    ...['http://[64:ff9b::7f00:1]/', 'http://[2002:7f00:1::]/', 'http://[fc00::1]/', 'http://[fe80::1]/'],
    ...['http://localhost/', 'http://LOCALHOST:80/', 'http://localhost./', 'http://a.localhost/'],
    ...['http://printer.local/', 'http://intranet/', 'http://①②⑦.0.0.1/', 'http://127。0。0。1/'],
    ...['http://user:secret@hook.example/', 'https://user@hook.example/'],
    ...['file:///etc/passwd', 'ftp://hook.example/', 'gopher://hook.example/', 'javascript:alert(1)'],
    ...['data:text/plain,a', 'hook.example', '/hook', 'no URL at all', 'http://', ' '],
  ])('at %s', async (url) => {
    const asked: string[] = []
    const fetch: PushOptions['fetch'] = (target) => {
      asked.push(target)
      return Promise.resolve(new Response())
    }
    const resolve = (): Promise<string[]> => Promise.resolve(['93.184.215.14'])
    const { create, task, handler } = pushAgent({ push: { allow: [], fetch, resolve } })
    const id = task()
    const text = await refusal(create(id, { url }))
    expect(text).toContain('-32602')
    expect(text).toContain('"field":"url"')
    expect(await handler.push.health(id)).toEqual([])
    expect(asked).toEqual([])
  })

  test.each([
    ['a private address', ['10.20.30.40']],
    ['one private address of several', ['93.184.215.14', '10.20.30.40']],
    ['a private address in IPv6', ['::ffff:10.20.30.40']],
    ['no address', []],
    ['what is no address', ['localhost']],
    ['what others read as a private address', ['010.0.0.1']],
    ['what others read so, in IPv6', ['2606:4700::010.0.0.1']],
    ['an address with a zone', ['2606:4700::1111%lo0']],
  ])('at a name that stands for %s', async (_, addresses) => {
    const { create, task } = pushAgent({ push: { resolve: () => Promise.resolve(addresses) } })
    const text = await refusal(create(task(), { url: 'https://hook.example/' }))
    expect(text).toContain('"field":"url"')
    for (const address of addresses) expect(text).not.toContain(address)
  })

  test('distinguished from an unknown name by the error', async () => {
    const resolve = (host: string): Promise<string[]> =>
      host.startsWith('db') ? Promise.resolve(['10.20.30.40']) : Promise.reject(new Error('ENOTFOUND'))
    const { create, task } = pushAgent({ push: { resolve } })
    const id = task()
    const texts = ['db', 'xy'].map((name) => refusal(create(id, { url: `https://${name}.corp.example/` })))
    const [there, gone] = (await Promise.all(texts)).map((text) => text.replace(/"timestamp":"[^"]*"/, ''))
    expect(there).toBe(gone)
  })

  test('at a name that does not resolve', async () => {
    const { create, clock, task } = pushAgent({ push: { resolve: () => new Promise(() => undefined) } })
    const refused = refusal(create(task(), { url: 'https://hook.example/' }))
    await until(() => clock.pending > 0)
    clock.advance(10_000)
    expect(await refused).toContain('"field":"url"')
  })
})

describe("the agent's operator receives the reason why a webhook is refused", () => {
  const secrets = { token: 'SECRET-TOKEN', authentication: { scheme: 'Bearer', credentials: 'SECRET-KEY' } }

  test.each([
    [
      'http://localhost:4200/SECRET-PATH?key=SECRET-QUERY',
      'A webhook at http://localhost:4200 was refused: localhost is not allowed. If it may be reached, add "localhost:4200" to push.allow',
    ],
    [
      'http://[::1]:4200/',
      'A webhook at http://[::1]:4200 was refused: ::1 is a private/reserved IP address. If it may be reached, add "[::1]:4200" to push.allow',
    ],
    [
      'https://db.example/',
      'A webhook at https://db.example was refused: db.example resolves to a private/reserved IP range. If it may be reached, add "db.example" to push.allow',
    ],
    [
      'https://gone.example/',
      'A webhook at https://gone.example was refused: gone.example cannot be resolved',
    ],
    [
      'https://SECRET-USER:SECRET-PASSWORD@hook.example/',
      'A webhook at https://hook.example was refused: credentials in it are not allowed',
    ],
    ['data:SECRET-DATA', 'A webhook at data: was refused: data: — only http and https are allowed'],
  ])('why: %s', async (url, text) => {
    const resolve = (host: string): Promise<string[]> =>
      host === 'gone.example' ? Promise.reject(new Error('ENOTFOUND')) : Promise.resolve(['10.20.30.40'])
    const { create, call, task, errors } = pushAgent({ push: { allow: [], resolve } })
    const taskId = task()
    const refused = await refusal(create(taskId, { id: 'mine', url, ...secrets }))
    expect(refused).not.toContain('push.allow')
    expect(errors).toMatchObject([{ context: { during: 'push', taskId, configId: 'mine' } }])
    expect(errors[0]?.error).toMatchObject({ code: 'URL_BLOCKED', message: text })
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }
    const configuration = { taskPushNotificationConfig: { url, ...secrets } }
    await refusal(call('SendMessage', { message, configuration }))
    expect(errors.map(({ error }) => String(error))).toEqual(Array(2).fill(String(errors[0]?.error)))
    expect(errors[1]?.context).toEqual({ during: 'push' })
    expect(JSON.stringify(errors)).not.toContain('SECRET')
  })

  test('that its name could not be looked up in time, and nothing of clients that have gone', async () => {
    const controller = new AbortController()
    const resolve = (): Promise<string[]> => new Promise(() => undefined)
    const { handler, create, clock, task, errors } = pushAgent({ push: { resolve } })
    const refused = refusal(create(task(), { url: 'https://hook.example/' }))
    await until(() => clock.pending > 0)
    clock.advance(10_000)
    await refused
    expect(String(errors[0]?.error)).toContain('hook.example cannot be resolved')
    const params = { taskId: task(), url: 'https://hook.example/' }
    const body = { jsonrpc: '2.0', id: 1, method: 'CreateTaskPushNotificationConfig', params }
    const { signal } = controller
    const left = handler.dispatch(body, { signal })
    await until(() => clock.pending > 0)
    controller.abort()
    await left
    expect(errors).toHaveLength(1)
  })
})

describe('a webhook is checked again', () => {
  test('before every attempt: a name that has moved to a private address gets nothing', async () => {
    let addresses = ['93.184.215.14']
    const asked: string[] = []
    const fetch: PushOptions['fetch'] = (target) => {
      asked.push(target)
      return Promise.resolve(new Response(null, { status: asked.length === 1 ? 503 : 204 }))
    }
    const { create, clock, task, handler, errors } = pushAgent({
      push: { fetch, resolve: () => Promise.resolve(addresses) },
    })
    const id = task()
    await create(id, { url: 'https://hook.example/' })
    await until(async () => (await handler.push.health(id))[0]?.state === 'retrying')
    addresses = ['10.20.30.40']
    clock.advance(1_000)
    await until(async () => (await handler.push.health(id))[0]?.state === 'disabled')
    expect(asked).toHaveLength(1)
    expect(errors).toHaveLength(1)
    expect(String(errors[0]?.error)).toContain('its URL is not allowed')
    const configId = (await handler.push.health(id))[0]?.id
    expect(errors[0]?.context).toEqual({ during: 'push', taskId: id, configId })
    expect(JSON.stringify(await handler.push.health())).not.toContain('10.20.30.40')
  })

  test('and one whose name cannot be resolved for a while is not given up', async () => {
    let isDown = false
    const resolve = (): Promise<string[]> =>
      isDown ? Promise.reject(new Error('EAI_AGAIN')) : Promise.resolve(['93.184.215.14'])
    const asked: string[] = []
    const fetch: PushOptions['fetch'] = (target) => {
      asked.push(target)
      return Promise.resolve(new Response())
    }
    const { create, clock, task, tasks, handler } = pushAgent({ push: { fetch, resolve } })
    const id = task()
    await create(id, { url: 'https://hook.example/' })
    await until(async () => (await handler.push.health(id))[0]?.state === 'idle')
    isDown = true
    tasks.updateTask(id, { state: 'working' })
    await until(async () => (await handler.push.health(id))[0]?.state === 'retrying')
    isDown = false
    clock.advance(1_000)
    await until(() => asked.length === 2)
  })

  test.each([
    ['to another port of the same host', 307, (port: number) => `http://127.0.0.1:${port}/hook`],
    ['to another name of the same host', 308, (port: number) => `http://localhost:${port}/hook`],
    ['with another method', 302, () => '/elsewhere'],
    ['to see elsewhere', 303, () => '/elsewhere'],
    ['to a file', 307, () => 'file:///etc/passwd'],
    ['with credentials', 307, () => 'http://u:p@127.0.0.1/'],
  ])('and does not lead on %s', async (_, status, locationOf) => {
    const other = await receiver()
    const hook = await receiver((response) =>
      response.writeHead(status, { location: locationOf(other.port) }).end(),
    )
    const { create, task, handler } = pushAgent({ push: { allow: ['127.0.0.1', 'localhost'] } })
    const id = task()
    await create(id, { url: hook.url, token: 'secret-token' })
    await until(async () => (await handler.push.health(id))[0]?.state === 'retrying')
    expect(hook.received).toHaveLength(1)
    expect(other.received).toEqual([])
    expect((await handler.push.health(id))[0]?.failure).toMatchObject({ status })
  })

  test('but may lead to another path of its own origin', async () => {
    const hook = await receiver((response) => response.writeHead(307, { location: '/moved' }).end())
    const { create, task } = pushAgent()
    await create(task(), { url: hook.url, token: 'token-1' })
    const [, second] = await hook.arrived(2)
    expect(second).toMatchObject({ path: '/moved', headers: { 'x-a2a-notification-token': 'token-1' } })
    expect(second?.body.task).toBeDefined()
  })
})

describe('the fields of a webhook', () => {
  const url = 'http://127.0.0.1:9999/'

  test.each<[string, object, string]>([
    ['a token with a line break', { token: 'a\r\nX-Admin: 1' }, 'token'],
    ['a token with a line feed at its end', { token: 'a\n' }, 'token'],
    ['a token with a zero', { token: 'a\0' }, 'token'],
    ['a token that is not Latin', { token: 'ключ' }, 'token'],
    ['a token that is too long', { token: 'a'.repeat(4_097) }, 'token'],
    ['a scheme of two words', { authentication: { scheme: 'Bearer x' } }, 'authentication.scheme'],
    ['a scheme with a line break', { authentication: { scheme: 'A\r\nB' } }, 'authentication.scheme'],
    [
      'credentials with a line break',
      { authentication: { scheme: 'Bearer', credentials: 'a\r\nHost: b' } },
      'authentication.credentials',
    ],
    ['an id with a line break', { id: 'a\nb' }, 'id'],
    ['an id that is too long', { id: 'a'.repeat(257) }, 'id'],
    ['half a character in an id', { id: '\ud800' }, 'id'],
    ['a URL that is too long', { url: `${url}${'a'.repeat(2_048)}` }, 'url'],
  ])('is refused: %s', async (_, config, field) => {
    const { create, task, handler } = pushAgent()
    const id = task()
    const text = await refusal(create(id, { url, ...config }))
    expect(text).toContain('-32602')
    expect(text).toContain(`"field":"${field}"`)
    expect(await handler.push.health(id)).toEqual([])
  })

  test('appear in no error, health report or dead letter', async () => {
    const secrets = ['SECRET-TOKEN', 'SECRET-CREDENTIALS', 'SECRET-QUERY', 'SECRET-PATH']
    const [token, credentials, query, path] = secrets
    const hook = await receiver()
    const failures = [
      () => new Response(token, { status: 500, statusText: 'SECRET-TOKEN' }),
      () => Promise.reject(new TypeError(`cannot reach ${hook.url}/${path}?key=${query}`)),
      () => Promise.reject(new A2AError('REQUEST_TIMED_OUT', 'late', { timeoutMs: token as never })),
      () => Promise.reject(ofService({ status: query as never })),
      () => Promise.reject(Object.assign(new Error('no'), { code: 'SECRET-PATH' })),
      () => Promise.reject(Object.assign(new Error('no'), { code: 'SECRET_TOKEN' })),
      () => Promise.reject(new TypeError(`bad header ${credentials}`, { cause: new Error(token) })),
      () => new Response(null, { status: 307, headers: { location: `https://x.example/${path}?${query}` } }),
    ]
    const shown: unknown[] = []
    for (const failure of failures) {
      const fetch = async (): Promise<Response> => failure()
      const agent = pushAgent({ push: { fetch, maxAttempts: 1 } })
      const id = agent.task()
      const authentication = { scheme: 'Bearer', credentials }
      await agent.create(id, { url: `http://127.0.0.1:9999/${path}?key=${query}`, token, authentication })
      await until(() => agent.errors.length > 0)
      const { push } = agent.handler
      expect(await push.health(id)).toMatchObject([{ state: 'disabled', origin: 'http://127.0.0.1:9999' }])
      for (const { error, context } of agent.errors) shown.push(String(error), stackOf(error), error, context)
      shown.push(await push.health(), await push.deadLetters())
    }
    const text = JSON.stringify(shown)
    expect(text).toContain('HTTP 500')
    expect(text).not.toContain('SECRET_TOKEN')
    for (const secret of secrets) expect(text).not.toContain(secret)
  })

  function ofService(data: { status: number }): A2AError {
    return new A2AError('EXTERNAL_SERVICE_ERROR', 'no', { service: 'any', url: 'any', ...data })
  }

  function stackOf(error: unknown): string {
    return error instanceof Error ? `${error.stack ?? ''} ${String(error.cause)}` : ''
  }
})

describe('a name that stands for another address once it was looked at', () => {
  test('is connected to nowhere', async () => {
    const inside = await receiver()
    const resolved: string[] = []
    const answers = [['93.184.215.14'], ['93.184.215.14'], ['127.0.0.1']]
    const resolve = (host: string): Promise<string[]> => {
      resolved.push(host)
      return Promise.resolve(answers.shift() ?? ['127.0.0.1'])
    }
    const { create, task, handler, errors } = pushAgent({ push: { allow: [], resolve } })
    const id = task()
    await create(id, { url: `http://hook.example:${inside.port}/` })
    await until(async () => (await handler.push.health(id))[0]?.state === 'disabled')
    expect(resolved).toHaveLength(3)
    expect(inside.received).toEqual([])
    expect(String(errors[0]?.error)).toContain('its URL is not allowed')
  })

  test('is connected to the address that was looked at', async () => {
    const hook = await receiver()
    const resolve = (): Promise<string[]> => Promise.resolve(['127.0.0.1'])
    for (const allow of [['127.0.0.0/8'], ['hook.example'], [`hook.example:${hook.port}`]]) {
      const { create, task } = pushAgent({ push: { allow, resolve } })
      hook.received.length = 0
      await create(task(), { url: `http://hook.example:${hook.port}/` })
      const [first] = await hook.arrived(1)
      expect(first?.headers.host).toBe(`hook.example:${hook.port}`)
    }
  })
})

test("the platform's fetch sends with resolve: false", async () => {
  const hook = await receiver()
  const { create, task, handler } = pushAgent({ push: { resolve: false } })
  const id = task()
  await create(id, { url: hook.url })
  await hook.arrived(1)
  await until(async () => (await handler.push.health(id))[0]?.state === 'idle')
})

describe('the port of a webhook', () => {
  const resolve = (): Promise<string[]> => Promise.resolve(['93.184.215.14'])
  const answer = (url: string, push: PushOptions = {}): Promise<string> => {
    const { create, task } = pushAgent({ push: { allow: [], resolve, ...push } })
    return refusal(create(task(), { url }))
  }
  const ALLOWED = 'nothing was refused'

  test.each([0, 1, 22, 25, 79, 81, 442, 444, 587, 1023])('is not %i', async (port) => {
    expect(await answer(`https://hook.example:${port}/`)).toContain('"field":"url"')
  })

  test.each([80, 443, 1024, 8080, 65_535])('may be %i', async (port) => {
    expect(await answer(`http://hook.example:${port}/`)).toBe(ALLOWED)
    expect(await answer('https://hook.example/')).toBe(ALLOWED)
    expect(await answer('http://hook.example/')).toBe(ALLOWED)
  })

  test('is one of the option, and never that of mail', async () => {
    const ports: PushOptions['ports'] = [443, [20, 90]]
    expect(await answer('https://hook.example/', { ports })).toBe(ALLOWED)
    expect(await answer('https://hook.example:20/', { ports })).toBe(ALLOWED)
    expect(await answer('https://hook.example:90/', { ports })).toBe(ALLOWED)
    for (const port of [19, 25, 91, 8080]) {
      expect(await answer(`https://hook.example:${port}/`, { ports })).toContain('"field":"url"')
    }
  })

  test('may be any that "allow" names with its host', async () => {
    const allow = ['db.internal:81', 'mail.internal:25', '10.1.0.0/16', 'hook.internal', '[fd00::1]:82']
    expect(await answer('http://db.internal:81/', { allow })).toBe(ALLOWED)
    expect(await answer('http://mail.internal:25/', { allow })).toBe(ALLOWED)
    expect(await answer('http://[fd00::1]:82/', { allow })).toBe(ALLOWED)
    expect(await answer('http://hook.internal:8080/', { allow })).toBe(ALLOWED)
    for (const url of ['http://hook.internal:81/', 'http://10.1.2.3:22/', 'http://[fd00::1]:83/']) {
      expect(await answer(url, { allow })).toContain('"field":"url"')
    }
  })

  test('is named to the owner of the agent when it is refused', async () => {
    const { create, task, errors } = pushAgent({ push: { allow: [], resolve } })
    await refusal(create(task(), { url: 'https://hook.example:25/' }))
    expect(errors.map(({ error }) => String(error)).join()).toContain(
      'A webhook at https://hook.example:25 was refused: port 25 is not in push.ports',
    )
  })

  test.each<[unknown, string]>([
    ['443', '"push.ports" must be an array'],
    [443, '"push.ports" must be an array'],
    [['443'], '"push.ports[0]" must be'],
    [[443, 0], '"push.ports[1]" must be'],
    [[65_536], '"push.ports[0]" must be'],
    [[25], '"push.ports" must not list 25, the port of mail'],
    [[[443]], '"push.ports[0]" must be'],
    [[[90, 80]], '"push.ports[0]" must be'],
    [[[0, 80]], '"push.ports[0]" must be'],
  ])('cannot be %j in the option', (ports, text) => {
    expect(() => pushAgent({ push: { resolve, ports: ports as PushOptions['ports'] } })).toThrow(text)
  })
})
