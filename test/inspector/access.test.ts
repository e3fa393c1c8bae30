/** Who sees what in an inspector, and which requests it refuses. */
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { createInspector, type InspectorAccess, type InspectorOptions } from 'a2a-tasks/inspector'
import { A2AGateway } from 'a2a-tasks/gateway'
import { createRequestHandler } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { OPEN, READ, Page } from './support/inspected.js'

const tasks = new TaskManager()
tasks.createTask({ id: 'of-ann', skill: 'a', owner: 'ann' })
tasks.createTask({ id: 'of-bob', skill: 'b', owner: 'bob' })
tasks.createTask({ id: 'of-none', skill: 'c' })
tasks.createTask({ id: 'of-ann-in-t', skill: 'd', owner: '\nt\nann' })

const CLIENT = new A2AClient({ card: fakeAgent('x').card })
/** A handler with a manager of its own. */
const OTHER = createRequestHandler({ card: { name: 'Other', url: 'http://other.test' }, execute: () => 'x' })

const OWN = 'http://host.test'
const pageFor = (access: InspectorAccess | Response | null, others: Partial<InspectorOptions> = {}): Page =>
  new Page({ tasks, actions: ['cancel'], authorize: () => access, ...others })
const idsIn = async (page: Page, query = ''): Promise<string[]> => {
  const { body } = await page.get(`tasks?${query}`)
  return (body as unknown as { tasks: { id: string }[] }).tasks.map(({ id }) => id).toSorted()
}

describe('createInspector() refuses', () => {
  it.each([
    [{ tasks }, '"authorize" must be a function'],
    [{ authorize: () => ({}) }, 'either "tasks" or "client"'],
    [{ ...OPEN, tasks, client: CLIENT }, 'either "tasks" or "client"'],
    [{ ...OPEN, tasks: {} }, '"tasks" must be a task manager'],
    [{ ...OPEN, tasks, actions: ['erase'] }, '"actions" must be a boolean, or an array of send'],
    [
      { ...OPEN, tasks },
      '"actions": true needs "handler" beside "tasks": pass it, or list actions of \'cancel\'',
    ],
    [{ ...OPEN, tasks, actions: ['cancel', 'answer'] }, '"actions": "answer" needs "handler" beside "tasks"'],
    [{ ...OPEN, tasks, actions: ['redeliver'] }, '"redeliver" needs "push", or a "handler" with webhooks'],
    [
      { ...OPEN, client: CLIENT, actions: ['fork'] },
      '"fork" needs a TaskManager or a DurableTaskManager as "tasks"',
    ],
    [{ ...OPEN, tasks, actions: ['maintain'] }, '"maintain" needs "gateway"'],
    [{ ...OPEN, tasks, actions: ['schedule'] }, '"schedule" needs "schedules"'],
    [{ ...OPEN, tasks, schedules: {} }, '"schedules" must be those of createSchedules'],
    [{ ...OPEN, tasks, handler: OTHER }, '"handler" and "tasks" have different managers'],
    [
      { ...READ, tasks, gateway: new A2AGateway({ providers: {} }) },
      '"gateway" and "tasks" have different managers',
    ],
    [{ ...READ, tasks, gateway: {} }, '"gateway" must be an A2AGateway'],
    [{ ...READ, tasks, pollIntervalMs: 0 }, '"pollIntervalMs" must be'],
    [{ ...READ, tasks, hosts: 'agent.example' }, '"hosts" must be an array of at most 100 hosts'],
    [{ ...READ, tasks, hosts: ['https://agent.example'] }, 'got "https://agent.example"'],
    [{ ...READ, tasks, hosts: ['*'] }, 'got "*"'],
    [{ ...READ, tasks, hosts: Array(101).fill('a') }, '"hosts" must be an array of at most 100'],
    [{ ...OPEN, tasks, auth: 1 }, 'Unknown option "auth"'],
  ])('%o', (options, text) => {
    expect(() => createInspector(options as unknown as InspectorOptions)).toThrow(text)
  })
})

describe('authorize', () => {
  it('gives nothing without access, the page included', async () => {
    const page = pageFor(null)
    expect((await page.raw('http://host.test/inspect')).status).toBe(401)
    expect(await page.get('tasks')).toMatchObject({
      status: 401,
      body: { error: 'You may not see this page' },
    })
  })

  it('may answer itself', async () => {
    const page = pageFor(Response.redirect('http://host.test/login', 302))
    expect((await page.raw('http://host.test/inspect')).status).toBe(302)
  })

  it.each([
    [{}, ['of-ann', 'of-ann-in-t', 'of-bob', 'of-none']],
    [{ owner: 'ann' }, ['of-ann']],
    [{ owner: null }, ['of-none']],
    [{ owner: 'ann', tenant: 't' }, ['of-ann-in-t']],
  ])('with %o shows %o', async (access, ids) => {
    expect(await idsIn(pageFor(access))).toEqual(ids)
    expect(await idsIn(pageFor(access), 'text=o')).toEqual(ids)
  })

  it('hides tasks of other owners behind the same 404 as tasks that do not exist', async () => {
    const page = pageFor({ owner: 'ann' })
    for (const path of ['', '/events', '/follow', '/wire']) {
      const other = await page.get(`tasks/of-bob${path}`)
      const none = await page.get(`tasks/of-no-one${path}`)
      expect([path, other.status, JSON.stringify(other.body).replace('of-bob', 'X')]).toEqual([
        path,
        404,
        JSON.stringify(none.body).replace('of-no-one', 'X'),
      ])
    }
    expect((await page.post('tasks/of-bob/cancel', {})).status).toBe(404)
    expect(tasks.stateOf('of-bob')).toBe('submitted')
    expect((await page.get('tasks?owner=bob')).status).toBe(400)
    expect((await page.get('counts')).body).toMatchObject({ submitted: 1 })
  })

  it('shows the children of a task that are its own, and not those that others claim', async () => {
    const family = new TaskManager()
    family.createTask({ id: 'parent', skill: 'a', owner: 'ann' })
    const lineage = { parentTaskId: 'parent', rootTaskId: 'parent', depth: 1, path: [] }
    const metadata = { 'https://a2a-tasks.dev/extensions/lineage/v1': lineage }
    for (const owner of ['ann', 'bob']) {
      const { id } = family.createTask({ id: `by-${owner}`, skill: 'b', owner })
      family.addMessage(id, { role: 'user', parts: [{ text: 'go' }], metadata })
    }
    const page = pageFor({ owner: 'ann' }, { tasks: family })
    expect((await page.get('tasks/parent')).body).toMatchObject({ children: { tasks: [{ id: 'by-ann' }] } })
    family.destroy()
  })

  it.each([
    [{ owner: undefined }, '"owner" must be a string'],
    [{ tenant: undefined }, '"tenant" must be a string'],
    [{ owner: '\nacme\nbob' }, 'without control characters'],
  ])('is refused %j, which would show tasks of others', async (access, text) => {
    const errors: unknown[] = []
    // What JavaScript lets pass.
    const page = pageFor(access as unknown as InspectorAccess, { onError: (error) => errors.push(error) })
    expect((await page.get('tasks')).status).toBe(500)
    expect(String(errors[0])).toContain(text)
  })

  it('cannot bind the tasks of a client to an owner', async () => {
    const client = new A2AClient({ card: fakeAgent('x').card })
    const errors: unknown[] = []
    const page = new Page({
      client,
      authorize: () => ({ owner: 'ann' }),
      onError: (error) => errors.push(error),
    })
    expect((await page.get('tasks')).status).toBe(500)
    expect(String(errors[0])).toContain('agents do not report owners')
  })

  describe('of an agent with users', () => {
    interface User {
      readonly id: string
      readonly name: string
    }
    const served = (
      access: InspectorAccess,
      options: { readonly principalOf?: (id: string) => User } = {},
    ): { page: Page; users: (User | undefined)[]; tasks: TaskManager } => {
      const users: (User | undefined)[] = []
      const handler = createRequestHandler<User>({
        card: { name: 'Private', url: 'http://agent.test' },
        authenticate: () => null,
        ...options,
        async execute(run) {
          users.push(run.principal)
          await run.requireInput('And?')
        },
      })
      onTestFinished(() => handler.close({ graceMs: 0 }))
      const page = new Page({ tasks: handler.tasks, handler, actions: true, authorize: () => access })
      return { page, users, tasks: handler.tasks }
    }
    const begin = async (page: Page): Promise<string> => {
      const { status, body } = await page.post('messages', { text: 'hello' })
      expect([status, body]).toEqual([200, { taskId: expect.any(String) as string }])
      return (body as unknown as { taskId: string }).taskId
    }

    it('begins tasks as the principal that it returns, with all that the principal has', async () => {
      const admin = { id: 'admin', name: 'Ada' }
      const { page, users, tasks: held } = served({ principal: admin })
      const id = await begin(page)
      await held.waitFor(id, { until: ['input-required'] })
      expect([held.getTask(id)?.owner, users]).toEqual(['admin', [admin]])
      expect((await page.get('session')).body).toMatchObject({ sender: 'admin' })
    })

    it('begins tasks as its owner, in its tenant', async () => {
      const { page, tasks: held } = served({ owner: 'ann', tenant: 't' })
      expect(held.getTask(await begin(page))?.owner).toBe('\nt\nann')
    })

    it('answers as the owner of the task, whom "principalOf" of the handler knows', async () => {
      const {
        page,
        users,
        tasks: held,
      } = served({ principal: { id: 'admin' } }, { principalOf: (id) => ({ id, name: `${id}'s name` }) })
      const { id } = held.createTask({ skill: 'x', owner: 'bob' })
      expect((await page.post('messages', { text: 'hello', taskId: id })).status).toBe(200)
      await held.waitFor(id, { until: ['input-required'] })
      expect(users).toEqual([{ id: 'bob', name: "bob's name" }])
      expect((await page.post(`tasks/${id}/cancel`, {})).status).toBe(200)
    })

    it('says what to return where it returns no principal', async () => {
      const { page } = served({})
      const { status, body } = await page.post('messages', { text: 'hello' })
      expect([status, JSON.stringify(body)]).toEqual([
        409,
        expect.stringContaining('return a \\"principal\\" from \\"authorize\\"'),
      ])
    })

    it.each<[InspectorAccess, string]>([
      [{ owner: 'ann', principal: { id: 'bob' } }, '"principal" must be that of the "owner", got "bob"'],
      [{ owner: null, principal: { id: 'bob' } }, '"principal" must be that of the "owner"'],
      [{ tenant: 't', principal: { id: 'bob' } }, '"principal" must be that of the "owner"'],
      [{ principal: { id: '\n' } }, 'A principal, such as authenticate() returns'],
    ])('is refused %j, whose tasks the person would not see', async (access, text) => {
      const errors: unknown[] = []
      const page = pageFor(access, { onError: (error) => errors.push(error) })
      expect((await page.get('tasks')).status).toBe(500)
      expect(String(errors[0])).toContain(text)
    })
  })

  it('that throws gives a fixed text, and the error to onError', async () => {
    const errors: unknown[] = []
    const page = new Page({
      tasks,
      authorize: () => Promise.reject(new Error('secret of the database')),
      onError: (error) => errors.push(error),
    })
    const { status, body } = await page.get('tasks')
    expect([status, JSON.stringify(body)]).toEqual([500, expect.not.stringContaining('secret')])
    expect(String(errors[0])).toContain('secret')
  })
})

describe('a request of another site', () => {
  const page = pageFor({})
  const MISSING = undefined

  it.each<[string, Record<string, string | undefined>]>([
    ['says that it is cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['comes from a sibling domain', { 'sec-fetch-site': 'same-site' }],
    ['comes from no site', { 'sec-fetch-site': 'none' }],
    ['says two things of its site', { 'sec-fetch-site': 'same-origin, cross-site' }],
    ['says nothing of its site', { 'sec-fetch-site': '' }],
    ['has no header of the page', { 'x-a2a-inspector': MISSING }],
    ['has another header of the page', { 'x-a2a-inspector': '1, 1' }],
    ['is cross-site, and says that its origin is ours', { 'sec-fetch-site': 'cross-site', origin: OWN }],
    ['has another origin', { 'sec-fetch-site': MISSING, origin: 'http://evil.test' }],
    ['has the origin of another port', { 'sec-fetch-site': MISSING, origin: 'http://host.test:81' }],
    [
      'has an origin that begins as ours',
      { 'sec-fetch-site': MISSING, origin: 'http://host.test.evil.test' },
    ],
    ['has an origin that names us', { 'sec-fetch-site': MISSING, origin: 'http://host.test@evil.test' }],
    ['has an opaque origin', { 'sec-fetch-site': MISSING, origin: 'null' }],
    ['has an empty origin', { 'sec-fetch-site': MISSING, origin: '' }],
    ['has only our origin', { 'sec-fetch-site': MISSING, 'x-a2a-inspector': MISSING, origin: OWN }],
  ])('is refused where it %s', async (_, headers) => {
    expect((await page.get('tasks', headers)).status).toBe(403)
    expect((await page.post('tasks/of-none/cancel', {}, headers)).status).toBe(403)
    expect(tasks.stateOf('of-none')).toBe('submitted')
  })

  it.each<[string, Record<string, string | undefined>]>([
    ['has its origin', { origin: OWN }],
    ['has its origin, and says nothing of its site', { 'sec-fetch-site': MISSING, origin: OWN }],
    ['says nothing of its site and its origin', { 'sec-fetch-site': MISSING }],
    ['passed a proxy that has left out the port', { origin: 'https://host.test:3100', host: 'host.test' }],
    ['passed a proxy that has put its own name', { origin: 'https://agent.example:3100', host: 'localhost' }],
  ])('of its own page passes where it %s', async (_, headers) => {
    expect((await page.get('tasks', headers)).status).toBe(200)
  })

  it('that a plain proxy without the port has passed on passes by "hosts"', async () => {
    const headers = { 'sec-fetch-site': MISSING, origin: 'http://host.test:3100', host: 'host.test' }
    const refused = await page.get('tasks', headers)
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      403,
      expect.stringMatching(/host\.test:3100.+ add it to the option \\"hosts\\" of createInspector/),
    ])
    const known = pageFor({}, { hosts: ['host.test:3100'] })
    expect((await known.get('tasks', headers)).status).toBe(200)
    expect((await known.get('tasks', { ...headers, origin: 'http://host.test:3101' })).status).toBe(403)
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', ''])(
    'is refused as a form of %o',
    async (type) => {
      expect((await page.post('tasks/of-none/cancel', {}, { 'content-type': type })).status).toBe(415)
      expect(tasks.stateOf('of-none')).toBe('submitted')
    },
  )

  it('is no preflight that is granted', async () => {
    const response = await page.raw('http://host.test/inspect/api/tasks', { method: 'OPTIONS' })
    expect(response.status).toBe(403)
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })
})

describe('a request to a host', () => {
  const HOSTS = ['agent.example', '*.apps.example', '[2001:db8::1]', 'with-port.example:8443']

  it.each([
    'localhost',
    'localhost:3000',
    'LocalHost',
    'a.localhost:3000',
    '127.0.0.1:3000',
    '[::1]:3000',
    'agent.example',
    'agent.example.',
    'Agent.Example:8443',
    'one.apps.example',
    'a.b.apps.example:1',
    '[2001:DB8::1]:80',
    'with-port.example',
    'with-port.example:8443',
  ])('%s is answered', async (host) => {
    const page = pageFor({}, { hosts: HOSTS })
    expect((await page.get('tasks', { host })).status).toBe(200)
    expect((await page.raw('http://elsewhere.test/inspect', { headers: { host } })).status).toBe(200)
  })

  // As a page has it whose name another site lets lead here: for its browser, it is of the same origin.
  it.each([
    'evil.test',
    'evil.test:3000',
    'apps.example',
    'evil-apps.example',
    'localhost.evil.test',
    'agent.example.evil.test',
    'evil.test@localhost',
    'localhost, evil.test',
    '127.0.0.1.evil.test',
    '127.0.0.2',
    '0.0.0.0',
    '[::ffff:7f00:1]',
    'localhost:',
    '',
  ])('%j is refused, with the name of the option', async (host) => {
    let asked = 0
    const page = pageFor({}, { hosts: HOSTS, authorize: () => ((asked += 1), {}) })
    const origin = `http://${host}`
    const answers = [
      await page.get('tasks', { host, origin }),
      await page.post('tasks/of-none/cancel', {}, { host, origin }),
    ]
    const document = await page.raw('http://localhost/inspect', { headers: { host } })
    expect([...answers.map(({ status }) => status), document.status, asked]).toEqual([403, 403, 403, 0])
    expect(await document.text()).toContain('add it to the option \\"hosts\\" of createInspector')
    expect(tasks.stateOf('of-none')).toBe('submitted')
  })

  it('is that of its URL where it has no header', async () => {
    expect((await new Page({ tasks, ...READ, hosts: [] }).get('tasks')).status).toBe(403)
  })
})

describe('the page', () => {
  it('allows its own script and style alone, no frames, and is not stored', async () => {
    const response = await pageFor({}).raw('http://host.test/inspect')
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    expect(response.headers.get('cache-control')).toBe('no-store')
    const html = await response.text()
    const script = /<script type="module">([^]*?)<\/script>/.exec(html)?.[1] ?? ''
    const style = /<style>([^]*?)<\/style>/.exec(html)?.[1] ?? ''
    for (const [directive, text] of [
      ['script-src', script],
      ['style-src', style],
    ] as const) {
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
      expect(policy).toContain(`${directive} 'sha256-${Buffer.from(digest).toString('base64')}'`)
    }
    expect(script.length).toBeGreaterThan(1_000)
  })
})
