/** An answer that comes token by token, as readers of the whole task see it. */
import fc from 'fast-check'
import { TaskManager, type ArtifactInput, saveTasks, restoreTasks } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute, type RequestHandler } from 'a2a-tasks/server'
import { corvid, kaos, litellm, v0_1 } from 'a2a-tasks/compat'
import { v0_3, v1 } from 'a2a-tasks/wire'
import { describe, expect, onTestFinished, test } from 'vitest'
import { applyEvent } from '../../../src/client/run/remote-task.js'
import { samples } from '../../support/samples.js'
import { newTask } from '../../compat/litellm/support/litellm.js'
import { ORIGIN, user } from '../spec/support/agent.js'

type Tasks = TaskManager | DurableTaskManager

const TOKENS = Array.from({ length: 2_000 }, (_, index) => `t${index} `)
const TEXT = TOKENS.join('')

const MANAGERS: readonly (readonly [string, () => Tasks])[] = [
  ['a TaskManager', () => new TaskManager()],
  ['a DurableTaskManager', () => new DurableTaskManager({ store: memoryStore() })],
]

function serve(tasks: Tasks, execute: Execute): RequestHandler {
  const handler = createRequestHandler({
    card: { name: 'Tokens', url: ORIGIN },
    anonymous: 'shared',
    dialects: [v1(), v0_3(), v0_1(), kaos(), corvid(), litellm()],
    tasks,
    execute,
  }) as unknown as RequestHandler
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    await tasks.destroy()
  })
  return handler
}

const clientOf = ({ fetch }: RequestHandler): Promise<A2AClient> =>
  A2AClient.connect(ORIGIN, { fetch: (url, init) => fetch(new Request(url, init)) })

async function* speak(): AsyncGenerator<string> {
  for (const token of TOKENS) yield await Promise.resolve(token)
}

async function answerOf(handler: RequestHandler, method: string, params: object, version: string) {
  const body = { jsonrpc: '2.0', id: 1, method, params }
  return JSON.stringify(await handler.dispatch(body, { version }))
}

describe.each(MANAGERS)('2,000 tokens over %s', (_name, open) => {
  test('are one part in every answer that has the whole task, and an event each in streams', async () => {
    const tasks = open()
    const handler = serve(tasks, speak)
    const client = await clientOf(handler)
    const whole = [{ parts: [{ text: TEXT }] }]

    const sent = await client.send('go')
    expect(sent).toMatchObject({ type: 'task', task: { artifacts: whole } })
    const id = sent.type === 'task' ? sent.task.id : ''
    expect(await client.getTask(id)).toMatchObject({ artifacts: whole })
    for await (const page of client.listTasks({ includeArtifacts: true }))
      expect(page.tasks).toMatchObject([{ artifacts: whole }])
    expect(await tasks.getTask(id)).toMatchObject({ artifacts: whole })

    const chunks = new Set<string | undefined>()
    let folded: ReturnType<typeof applyEvent> | undefined
    for await (const event of client.stream('go')) {
      if (event.type === 'artifact') for (const { text } of event.artifact.parts) chunks.add(text)
      if (event.type !== 'message') folded = applyEvent(folded, event)
    }
    // A reader that is slower than the log is long gets the whole task in the middle.
    expect(TOKENS.filter((token) => chunks.has(token)).length).toBeGreaterThan(500)
    expect(folded).toMatchObject({ state: 'completed', artifacts: whole })
    expect(await client.run('go')).toMatchObject({ text: TEXT, task: { artifacts: whole } })
  })

  test.each([
    ['0.3', 'tasks/get', `{"kind":"text","text":"${TEXT}"}`],
    ['0.1', 'tasks/get', `{"type":"text","text":"${TEXT}"}`],
    ['kaos', 'GetTask', `"parts":[{"type":"text","text":"${TEXT}"}]`],
  ])('are one part in dialect %s', async (version, method, part) => {
    const handler = serve(open(), speak)
    const sent = await (await clientOf(handler)).send('go')
    const id = sent.type === 'task' ? sent.task.id : ''
    expect(await answerOf(handler, method, { id }, version)).toContain(part)
  })

  test('are one text in the dialects of corvid-agent and LiteLLM-RS', async () => {
    const handler = serve(open(), speak)
    const response = await handler.fetch(
      new Request(`${ORIGIN}/a2a/tasks/send`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ message: 'go' }),
      }),
    )
    const { id } = (await response.json()) as { readonly id: string }
    await expect
      .poll(async () => (await handler.fetch(new Request(`${ORIGIN}/a2a/tasks/${id}`))).text())
      .toContain(TEXT)
    expect(await answerOf(handler, 'task_send', newTask('go'), 'litellm')).toContain(`"response":"${TEXT}"`)
  })

  test('are one part in the task with which a stream begins', async () => {
    const tasks = open()
    const handler = serve(tasks, async (run) => {
      for (const token of TOKENS) run.artifact({ artifactId: 'a', parts: [{ text: token }] })
      await run.requireInput('Go on?')
    })
    const sent = await (await clientOf(handler)).send('go')
    const id = sent.type === 'task' ? sent.task.id : ''
    const { value } = await tasks.subscribe(id).next()
    const task = value?.type === 'snapshot' ? value.task : undefined
    expect(task?.artifacts[0]?.parts?.length).toBe(1)
  })
})

describe('a task in a store', () => {
  const chunks = [
    [{ text: 'a' }],
    [{ text: 'b' }, { text: 'c' }],
    [{ text: 'd' }],
    [{ data: 1 }],
    [{ text: 'e' }],
  ]
  const parts = [{ text: 'ab' }, { text: 'cd' }, { data: 1 }, { text: 'e' }]

  async function written(store: TaskStore): Promise<string> {
    const tasks = new DurableTaskManager({ store })
    const { id } = await tasks.createTask({ skill: 'test' })
    for (const chunk of chunks) await tasks.appendArtifact(id, { artifactId: 'a', parts: chunk })
    await tasks.updateTask(id, { state: 'rejected' })
    await tasks.destroy()
    return id
  }

  test('is read as it was written: the parts of one write stay apart', async () => {
    const store = memoryStore()
    const id = await written(store)
    const tasks = new DurableTaskManager({ store })
    expect((await tasks.getTask(id))?.artifacts).toEqual([{ artifactId: 'a', parts }])
    const saved = await saveTasks(tasks)
    await tasks.destroy()
    const restored = new TaskManager()
    restoreTasks(restored, saved)
    expect(restored.getTask(id)?.artifacts).toEqual([{ artifactId: 'a', parts }])
  })

  test('of an earlier release has its texts joined', async () => {
    const store = memoryStore()
    const id = await written(store)
    const read = store.get.bind(store)
    store.get = async (taskId) => {
      const stored = await read(taskId)
      if (stored === undefined) return undefined
      const artifacts = [{ artifactId: 'a', parts: chunks.flat() }]
      return {
        ...stored,
        checkpoint: Object.assign({ ...stored.checkpoint, artifacts }, { form: undefined }),
      }
    }
    const tasks = new DurableTaskManager({ store })
    const joined = [{ text: 'abcd' }, { data: 1 }, { text: 'e' }]
    expect((await tasks.getTask(id))?.artifacts).toEqual([{ artifactId: 'a', parts: joined }])
    await tasks.destroy()
  })
})

const part = fc.oneof(
  { weight: 3, arbitrary: fc.record({ text: fc.string({ maxLength: 3 }) }) },
  fc.record({ text: fc.string({ maxLength: 3 }), mediaType: fc.constant('text/markdown') }),
  fc.record({ text: fc.string({ maxLength: 3 }), metadata: fc.constant({ of: 1 }) }),
  fc.record({ data: fc.nat(9) }),
)
const writes = fc.array(
  fc.record({
    artifact: fc.record({
      artifactId: fc.constantFrom('a', 'b'),
      parts: fc.array(part, { minLength: 1, maxLength: 3 }),
    }),
    append: fc.boolean(),
  }),
  { maxLength: 12 },
)

test('what a client folds of a stream is what the agent has', async () => {
  const scripts = new Map<string, readonly { readonly artifact: ArtifactInput; readonly append: boolean }[]>()
  const handler = serve(new DurableTaskManager({ store: memoryStore() }), (run) => {
    for (const { artifact, append } of scripts.get(run.text) ?? []) run.artifact(artifact, { append })
  })
  const client = await clientOf(handler)
  await fc.assert(
    fc.asyncProperty(writes, async (script) => {
      const name = String(scripts.size)
      scripts.set(name, script)
      let folded: ReturnType<typeof applyEvent> | undefined
      for await (const event of client.stream({ parts: user(name).parts }))
        if (event.type !== 'message') folded = applyEvent(folded, structuredClone(event))
      const { artifacts } = await client.getTask(folded?.id ?? '')
      expect(folded?.artifacts).toEqual(artifacts)
      const { text } = await client.run({ parts: user(name).parts })
      expect(text).toBe(
        artifacts
          .map(({ parts }) => parts.map((each) => each.text ?? '').join(''))
          .filter(Boolean)
          .join('\n'),
      )
    }),
    { numRuns: samples(100) },
  )
})
