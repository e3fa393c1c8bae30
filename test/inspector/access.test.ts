/** Who sees what in an inspector, and which requests it refuses. */
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { createInspector, type InspectorAccess, type InspectorOptions } from 'a2a-tasks/inspector'
import { A2AGateway } from 'a2a-tasks/gateway'
import { createRequestHandler } from 'a2a-tasks/server'
import { fakeAgent } from 'a2a-tasks/testing'
import { describe, expect, it } from 'vitest'
import { OPEN, READ, Page } from './support/inspected.js'

const tasks = new TaskManager()
tasks.createTask({ id: 'of-ann', skill: 'a', owner: 'ann' })
tasks.createTask({ id: 'of-bob', skill: 'b', owner: 'bob' })
tasks.createTask({ id: 'of-none', skill: 'c' })
tasks.createTask({ id: 'of-ann-in-t', skill: 'd', owner: '\nt\nann' })

const CLIENT = new A2AClient({ card: fakeAgent('x').card })
/** A handler with a manager of its own. */
const OTHER = createRequestHandler({ card: { name: 'Other', url: 'http://other.test' }, execute: () => 'x' })

const pageFor = (access: InspectorAccess | Response | null, others: Partial<InspectorOptions> = {}): Page =>
  new Page({ tasks, actions: ['cancel'], ...others, authorize: () => access })
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
    [{ ...OPEN, client: CLIENT, actions: ['fork'] }, '"fork" needs "tasks" with fork()'],
    [{ ...OPEN, tasks, actions: ['maintain'] }, '"maintain" needs "gateway"'],
    [{ ...OPEN, tasks, handler: OTHER }, '"handler" and "tasks" have different managers'],
    [
      { ...READ, tasks, gateway: new A2AGateway({ providers: {} }) },
      '"gateway" and "tasks" have different managers',
    ],
    [{ ...READ, tasks, gateway: {} }, '"gateway" must be an A2AGateway'],
    [{ ...READ, tasks, pollIntervalMs: 0 }, '"pollIntervalMs" must be'],
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
    expect(await idsIn(pageFor(access), 'order=failures')).toEqual(ids)
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

  it.each<[string, Record<string, string>]>([
    ['says that it is cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['comes from a sibling domain', { 'sec-fetch-site': 'same-site' }],
    ['has no header of the page', { 'x-a2a-inspector': '' }],
    ['has another origin', { origin: 'http://evil.test' }],
    ['has an opaque origin', { origin: 'null' }],
  ])('is refused where it %s', async (_, headers) => {
    expect((await page.get('tasks', headers)).status).toBe(403)
    expect((await page.post('tasks/of-none/cancel', {}, headers)).status).toBe(403)
    expect(tasks.stateOf('of-none')).toBe('submitted')
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

  it('of its own page passes', async () => {
    expect((await page.get('tasks', { origin: 'http://host.test', host: 'host.test' })).status).toBe(200)
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
