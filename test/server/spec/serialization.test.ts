import { JsonObjectSchema, type JsonObject, type JsonValue, type Part } from 'a2a-tasks/schemas'
import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { agent, BINDINGS, call, get, open, refused, taskOf, user } from './support/agent.js'
import type { Binding, TestAgent } from './support/agent.js'

/** Makes one of everything. */
async function everything(run: Run): Promise<void> {
  run.update({ current: 1, total: 2 })
  run.artifact({
    artifactId: 'a',
    name: 'A',
    description: 'The first',
    extensions: ['https://extensions.test/a'],
    metadata: { snake_case: { any_key: true } },
    parts: [
      { text: '', metadata: { any_key: 1 } },
      { raw: 'aGk=', filename: 'hi.txt', mediaType: 'text/plain' },
      { url: 'https://files.test/a' },
      { data: null },
    ],
  })
  await run.requireInput('Which?')
  run.complete({ parts: [{ data: [0] }], metadata: { k: 1 }, extensions: ['https://extensions.test/a'] })
}

/** All that an agent says about one task. */
async function allAnswers(binding: Binding, a: TestAgent): Promise<JsonValue[]> {
  const stream = await open(binding, a, 'SendStreamingMessage', { message: user('go') })
  const items = await stream.rest()
  const id = items[0]?.value.task?.id ?? ''
  const more = { message: user('this', { taskId: id }) }
  const answers: unknown[] = [
    ...items.map(({ value }) => value),
    (await call(binding, a, 'SendMessage', more)).result,
    (await call(binding, a, 'GetTask', { id })).result,
    (await call(binding, a, 'ListTasks', { includeArtifacts: true })).result,
  ]
  expect(answers).toHaveLength(items.length + 3)
  return answers as JsonValue[]
}

/** Keys and texts, by the key they are under; not of what may be any JSON. */
function* entriesOf(value: JsonValue): Generator<[key: string, value: JsonValue]> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    yield [key, child]
    if (key !== 'metadata' && key !== 'data') yield* entriesOf(child)
  }
}

const STATES =
  /^TASK_STATE_(SUBMITTED|WORKING|INPUT_REQUIRED|AUTH_REQUIRED|COMPLETED|FAILED|CANCELED|REJECTED)$/

describe.each(BINDINGS)('$name: what goes out', (binding) => {
  test('114, 115, 116, 122. is camelCase, has its names, has times in UTC, has nothing else', async () => {
    // Each answer is compared with what its schema leaves of it, by `closed` in support.ts.
    const entries = [...entriesOf(await allAnswers(binding, agent(everything)))]
    const keys = entries.map(([key]) => key).filter((key) => !/^\d+$/.test(key))
    expect(keys.filter((key) => !/^[a-z][a-zA-Z]*$/.test(key))).toEqual([])
    expect(keys).not.toContain('kind')
    expect(keys).not.toContain('final')
    const under = (wanted: string) => entries.flatMap(([key, value]) => (key === wanted ? [value] : []))
    for (const state of under('state')) expect(state).toMatch(STATES)
    for (const role of under('role')) expect(role).toMatch(/^ROLE_(USER|AGENT)$/)
    expect(under('timestamp').length).toBeGreaterThan(0)
    for (const time of under('timestamp')) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  test('120. a part keeps its one content, whatever its value', async () => {
    const parts: Part[] = [
      { text: '' },
      { raw: '' },
      { data: null },
      { data: false },
      { data: 0 },
      { data: '' },
    ]
    const a = agent((run) => {
      run.artifact({ parts })
    })
    const task = taskOf(await call(binding, a, 'SendMessage', { message: user('', { parts }) }))
    expect(task.history?.[0]?.parts).toEqual(parts)
    expect(task.artifacts?.[0]?.parts).toEqual(parts)
  })

  test('122. an artifact of an agent that knows no schema has no more than the schema has', async () => {
    const a = agent((run) => {
      run.artifact({ artifactId: 'a', parts: [{ text: 'x' }], colour: 'red' })
      run.artifact({ artifactId: 'b', parts: [{ text: 'y' }], index: 0 })
      a.tasks.appendArtifact(run.task.id, { colour: 'red' })
    })
    const stream = await open(binding, a, 'SendStreamingMessage', { message: user('go') })
    const items = await stream.rest()
    const id = items[0]?.value.task?.id ?? ''
    const { result } = await call(binding, a, 'GetTask', { id })
    expect(result?.artifacts?.map(({ parts }) => parts)).toEqual([
      [{ text: 'x' }],
      [{ text: 'y' }],
      [{ data: expect.objectContaining({ colour: 'red' }) as JsonObject }],
    ])
  })

  test.each([
    ['message.mood', { parts: [{ text: 'x' }], mood: 'good' }],
    ['message.parts[0].shade', { parts: [{ text: 'x', shade: 'red' }] }],
  ])('122. an agent cannot say what the schema lacks: %s', async (path, said) => {
    const a = agent((run) => {
      run.complete(said)
    })
    const task = taskOf(await call(binding, a, 'SendMessage', { message: user('go') }))
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect(a.errors).toMatchObject([{ error: { code: 'INVALID_PARAMS', data: { path } } }])
  })
})

describe.each(BINDINGS)('$name: what comes in', (binding) => {
  test('117. times are understood in every form of ISO 8601 with a zone', async () => {
    const a = agent(() => 'done')
    a.tasks.createTask({ skill: 'test' })
    for (const [time, count] of [
      ['2026-01-01T00:00:00Z', 1],
      ['2026-01-01T00:00:00.000Z', 1],
      ['2026-01-01T00:00:00.000000Z', 1],
      ['2026-01-01T02:00:00+02:00', 1],
      ['2025-12-31T19:00:00-05:00', 1],
      ['2026-01-01T00:00:00.001Z', 0],
      ['2026-01-01T00:00:00-01:00', 0],
    ] as const) {
      const { result } = await call(binding, a, 'ListTasks', { statusTimestampAfter: time })
      expect([time, result?.totalSize]).toEqual([time, count])
    }
  })

  test('118, 121. a missing required field is refused', async () => {
    for (const [params, message] of [
      [{ message: { role: 'ROLE_USER', parts: [{ text: 'x' }] } }, 'message.messageId is missing'],
      [{ message: { messageId: 'm', parts: [{ text: 'x' }] } }, 'message.role'],
      [{ message: { messageId: 'm', role: 'ROLE_USER' } }, 'message.parts is missing'],
      [{ message: { messageId: 'm', role: 'ROLE_USER', parts: [] } }, 'must have at least one part'],
    ] as const) {
      const error = await refused(
        binding,
        agent(() => 'done'),
        'SendMessage',
        params,
      )
      expect(error.message).toContain(message)
    }
  })

  test('119. unknown fields are ignored, at every level', async () => {
    const a = agent((run) => run.text)
    const params = {
      message: { ...user('hi'), parts: [{ text: 'hi', later: { a: 1 } }], later: [1] },
      configuration: { later: true },
      later: null,
    }
    const task = taskOf(await call(binding, a, 'SendMessage', params))
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(task.history?.[0]).not.toHaveProperty('later')
  })

  test('119. null stands for what is absent, and for data', async () => {
    const a = agent((run) => run.text)
    const message = { ...user('hi'), contextId: null, taskId: null, metadata: null, parts: [{ data: null }] }
    const task = taskOf(
      await call(binding, a, 'SendMessage', { message, configuration: null, metadata: null }),
    )
    expect(task.history?.[0]?.parts).toEqual([{ data: null }])
    expect(task.history?.[0]).not.toHaveProperty('metadata')
  })

  test('119. a name or type that is written out as empty stands for none', async () => {
    const parts = [{ text: 'hi', filename: '', mediaType: '' }]
    const task = taskOf(
      await call(
        binding,
        agent((run) => run.text),
        'SendMessage',
        { message: user('', { parts }) },
      ),
    )
    expect(task.history?.[0]?.parts).toEqual([{ text: 'hi' }])
  })

  test('124. a file is passed on by its address, and not fetched', async () => {
    const seen: unknown[] = []
    const a = agent((run) => void seen.push(run.message.parts))
    const parts = [{ url: 'http://169.254.169.254/latest/meta-data' }]
    await call(binding, a, 'SendMessage', { message: user('', { parts }) })
    expect(seen).toEqual([parts])
  })
})

test('123. both bindings say the same', async () => {
  const inBinding = async (binding: Binding): Promise<string> => {
    const answers = JSON.stringify(await allAnswers(binding, agent(everything)))
    const names = new Map<string, string>()
    // Messages of the client's have other ids each time.
    return answers.replace(/"m-\d+"/g, (id) => {
      if (!names.has(id)) names.set(id, `"client-${names.size}"`)
      return names.get(id) ?? ''
    })
  }
  const [first, second] = await Promise.all(BINDINGS.map(inBinding))
  expect(second).toBe(first)
})

test('118. required fields are present even where they are empty', async () => {
  const { handler } = agent(() => 'done')
  const list = JsonObjectSchema.parse(await (await handler.fetch(get('/tasks'))).json())
  expect(list).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
})
