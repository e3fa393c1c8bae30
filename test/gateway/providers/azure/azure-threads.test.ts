import { bearerAuth } from 'a2a-tasks/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { azureAI } from '../../../../src/gateway/providers/azure/provider.js'
import { startAzureStub, type AzureStub } from '../../../services/azure/azure-stub.js'
import type { Step } from '../../../services/azure/script.js'
import { DISCONNECT } from '../../../services/stub-server.js'
import { agentAt, asked, calling, collect, fault, follow, serve, textsOf } from '../a2a/support/a2a.js'

let stub: AzureStub
beforeAll(async () => {
  stub = await startAzureStub()
})
afterAll(() => stub.stop())

const provider = azureAI()
const CALL = { id: 'call_1', name: 'weather', arguments: '{"city":"Bern"}' }

function at(settings: object = {}) {
  const made = agentAt(stub.endpoint, { settings: { api: 'threads', assistantId: 'asst_1', ...settings } })
  return { ...made, endpoint: { ...made.endpoint, auth: bearerAuth(stub.token) } }
}

async function done(...steps: Step[]) {
  stub.script(...steps)
  return await follow(provider, at(), await provider.sendTask(at(), asked('hello'), calling()))
}

const last = () => stub.requests.at(-1)
const outputs = { tool_outputs: [{ tool_call_id: 'call_1', output: 'Rain' }] }
const answering = { ...asked('').message, parts: [{ data: outputs }] }

describe('a classic agent of Azure AI Foundry', () => {
  it('does a task in its own thread', async () => {
    const sent = await provider.sendTask(at(), asked('hello'), calling())
    expect(sent).toEqual({
      ref: { threadId: expect.any(String) as string, runId: expect.any(String) as string },
      state: 'submitted',
    })
    expect(last()).toMatchObject({ method: 'POST', path: '/api/projects/project/threads/runs' })
    expect(last()?.query.get('api-version')).toBe('v1')
    expect(last()?.body).toEqual({
      assistant_id: 'asst_1',
      thread: { messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }] },
    })
    const end = await follow(provider, at(), sent)
    expect(end).toEqual({
      ...{ ref: sent.ref, state: 'completed' },
      artifacts: [{ artifactId: sent.ref?.['runId'], parts: [{ text: 'Hello' }] }],
    })
  })

  it('continues in the thread of the task before, and reports only what is new', async () => {
    const { ref = {} } = await done({ text: 'One' }, 'completed')
    stub.script({ text: 'Two' }, 'completed')
    const sent = await provider.sendTask(at(), asked('more', { previous: ref }), calling())
    expect(sent.ref?.['threadId']).toBe(ref['threadId'])
    expect(textsOf(await follow(provider, at(), sent))).toEqual(['Two'])
  })

  it('may have another id and another version of its API', async () => {
    const agent = at({ agentId: 'asst_1', assistantId: undefined, apiVersion: '2025-05-01' })
    expect(
      await provider.healthCheck(
        { ...agent, settings: JSON.parse(JSON.stringify(agent.settings)) as never },
        calling(),
      ),
    ).toBe('online')
    expect(last()?.path).toBe('/api/projects/project/assistants/asst_1')
    expect(last()?.query.get('api-version')).toBe('2025-05-01')
  })

  it('has as many messages as it likes', async () => {
    const many: Step[] = Array.from(
      { length: 120 },
      (_, index) => [{ text: `${index} ` }, 'in_progress'] as const,
    ).flat()
    const end = await done(...many, 'completed')
    expect(end.artifacts?.[0]?.parts).toHaveLength(120)
  })

  it.each([
    ['pages', '', 'more than 1000 pages'],
    ['text', 'x'.repeat(4_000_000), 'too long'],
  ])('is not read forever where there is no end of %s', async (_name, value, reason) => {
    let pages = 0
    const url = await serve(() => (request, response) => {
      response.setHeader('content-type', 'application/json')
      const isPage = request.url?.includes('/messages') === true
      const message = { role: 'assistant', content: [{ type: 'text', text: { value } }] }
      const page = { data: [message], has_more: true, last_id: `msg_${isPage ? (pages += 1) : 0}` }
      response.end(JSON.stringify(isPage ? page : { id: 'r', thread_id: 't', status: 'completed' }))
    })
    const agent = { ...at(), endpoint: { ...at().endpoint, url } }
    expect(await fault(provider.getTask(agent, { threadId: 't', runId: 'r' }, calling()))).toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { reason: expect.stringContaining(reason) as string },
    })
  })

  it('may have more parts in a message than a call has arguments', async () => {
    const content = Array.from({ length: 300_000 }, () => ({ type: 'text', text: { value: 'x' } }))
    const page = JSON.stringify({ data: [{ role: 'assistant', content }], has_more: false })
    const url = await serve(() => (request, response) => {
      response.setHeader('content-type', 'application/json')
      const isPage = request.url?.includes('/messages') === true
      response.end(isPage ? page : JSON.stringify({ id: 'r', thread_id: 't', status: 'completed' }))
    })
    const agent = { ...at(), endpoint: { ...at().endpoint, url } }
    const { artifacts } = await provider.getTask(agent, { threadId: 't', runId: 'r' }, calling())
    expect(artifacts?.[0]?.parts).toHaveLength(content.length)
  })

  it('fails with a general text if its code and text are unusable', async () => {
    const code = `the password is ${'secret'.repeat(100)}`
    expect(await done({ failed: { code, message: '' } })).toMatchObject({
      message: 'The agent failed: error',
      failure: { code: 'error', retryable: false },
    })
  })

  it.each<[name: string, steps: Step[], update: object]>([
    ['queued', ['queued', new Promise(() => {})], { state: 'submitted' }],
    ['in_progress', ['in_progress', new Promise(() => {})], { state: 'working' }],
    ['cancelling', ['cancelling', new Promise(() => {})], { state: 'working' }],
    ['cancelled', ['cancelled'], { state: 'canceled' }],
    ['expired', ['expired'], { state: 'failed', failure: { code: 'expired', retryable: true } }],
    [
      'failed',
      [{ failed: { code: 'server_error', message: 'secret' } }],
      {
        state: 'failed',
        message: 'The agent failed: server_error',
        failure: { code: 'server_error', retryable: true },
      },
    ],
  ])('has its state reported: %s', async (_name, steps, update) => {
    stub.script(...steps)
    const { ref = {} } = await provider.sendTask(at(), asked('hello'), calling())
    expect(await provider.getTask(at(), ref, calling())).toEqual({ ref, ...addMessage(update) })
  })

  it('has failed with a part of its answer when it is incomplete', async () => {
    const end = await done('in_progress', { text: 'Half' }, { incomplete: 'max_completion_tokens' })
    expect(end).toMatchObject({
      state: 'failed',
      failure: { code: 'max_completion_tokens', retryable: false },
    })
    expect(textsOf(end)).toEqual(['Half'])
  })

  it('says nothing of a status that is not known', async () => {
    expect(await fault(done({ status: 'pondering' }))).toMatchObject({
      code: 'PROVIDER_ERROR',
      message: expect.stringContaining('run status "pondering" is not known') as string,
    })
  })

  it('says nothing of an action that is not known', async () => {
    expect(await fault(done({ status: 'requires_action' }))).toMatchObject({
      code: 'PROVIDER_ERROR',
      message: expect.stringContaining('required action null is not known') as string,
    })
  })

  it('is asked to cancel, and does so in its time', async () => {
    stub.script('in_progress', new Promise(() => {}))
    const { ref = {} } = await provider.sendTask(at(), asked('hello'), calling())
    expect((await provider.cancelTask(at(), ref, calling())).state).toBe('working')
    expect((await provider.getTask(at(), ref, calling())).state).toBe('canceled')
  })

  it('knows no other runs', async () => {
    const ref = { threadId: 'thread_x', runId: 'run_x' }
    const notFound = { code: 'TASK_NOT_FOUND', data: { taskId: 'run_x' } }
    expect(await fault(provider.getTask(at(), ref, calling()))).toMatchObject(notFound)
    expect(await fault(provider.cancelTask(at(), ref, calling()))).toMatchObject(notFound)
  })

  it('waits for the results of tools, and continues with them', async () => {
    const waiting = await done('in_progress', { calls: [CALL] }, { text: 'It rains' }, 'completed')
    expect(waiting).toMatchObject({
      state: 'input-required',
      message: {
        parts: [
          { text: 'The agent waits for the result of weather' },
          { data: { tool_calls: [{ id: 'call_1', type: 'function' }] } },
        ],
      },
    })
    const { ref = {} } = waiting
    const sent = await provider.sendTask(at(), asked('', { ref, message: answering }), calling())
    expect(last()?.body).toEqual(outputs)
    expect(textsOf(await follow(provider, at(), sent))).toEqual(['It rains'])
  })

  it('refuses a text where a program has to answer', async () => {
    const { ref = {} } = await done({ calls: [CALL] })
    expect(await fault(provider.sendTask(at(), asked('Rain', { ref }), calling()))).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'message.parts' },
    })
  })

  it('takes images, and no other files', async () => {
    const parts = [{ raw: 'AAEC', mediaType: 'image/png' }, { data: { n: 1 } }]
    const message = { ...asked('').message, parts }
    await provider.sendTask(at(), asked('', { message }), calling())
    expect(last()?.body).toMatchObject({
      thread: {
        messages: [
          {
            content: [
              { type: 'image_url', image_url: { url: 'data:image/png;base64,AAEC' } },
              { type: 'text', text: '{"n":1}' },
            ],
          },
        ],
      },
    })
    const file = { ...message, parts: [{ raw: 'AAEC', mediaType: 'application/pdf' }] }
    expect(await fault(provider.sendTask(at(), asked('', { message: file }), calling()))).toMatchObject({
      code: 'CONTENT_TYPE_NOT_SUPPORTED',
      data: { mediaType: 'application/pdf' },
    })
  })
})

/** What has failed says so. */
function addMessage(update: object): object {
  return 'failure' in update ? { message: 'The agent failed: expired', ...update } : update
}

describe('a stream of a classic agent', () => {
  const streamed = (steps: readonly Step[], more: object = {}) => {
    stub.script(...steps)
    return collect(provider.streamTask(at(), asked('hello', more), calling()))
  }

  it('reports texts as they are written, and nothing twice', async () => {
    const updates = await streamed(['in_progress', { text: 'Hel' }, { text: 'lo' }, 'completed'])
    const { ref } = updates[0] ?? {}
    const artifactId = ref?.['runId']
    expect(updates).toEqual([
      { ref, state: 'submitted' },
      { ref, state: 'submitted' },
      { ref, state: 'working' },
      { chunk: { artifactId, parts: [{ text: 'Hel' }] } },
      { chunk: { artifactId, parts: [{ text: 'lo' }] } },
      { ref, state: 'completed' },
    ])
    const whole = await provider.getTask(at(), ref ?? {}, calling())
    expect(whole.artifacts).toEqual([{ artifactId, parts: [{ text: 'Hello' }] }])
  })

  it('ends with a question, and another continues from its answer', async () => {
    const updates = await streamed(['in_progress', { calls: [CALL] }, { text: 'Rain' }, 'completed'])
    expect(updates.at(-1)).toMatchObject({ state: 'input-required' })
    const { ref = {} } = updates.at(-1) ?? {}
    const rest = await collect(provider.streamTask(at(), asked('', { ref, message: answering }), calling()))
    expect(rest.map(({ state, chunk }) => state ?? chunk?.parts?.[0]?.text)).toEqual([
      'submitted',
      'Rain',
      'completed',
    ])
  })

  it('fails after the part that it has sent', async () => {
    const updates = await streamed([{ text: 'Half' }, { incomplete: 'max_prompt_tokens' }])
    expect(updates.map(({ chunk }) => chunk?.parts)).toContainEqual([{ text: 'Half' }])
    expect(updates.at(-1)).toEqual({
      ...{ ref: updates[0]?.ref, state: 'failed', message: 'The agent failed: max_prompt_tokens' },
      failure: { code: 'max_prompt_tokens', retryable: false },
    })
  })

  it('breaks, or reports an error of the service', async () => {
    expect(await fault(streamed(['in_progress', DISCONNECT]))).toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { retryable: true },
    })
    const error = { code: 'server_error', message: 'Oops' }
    expect(await fault(streamed(['in_progress', { error }]))).toMatchObject({
      code: 'PROVIDER_ERROR',
      data: { retryable: true, reason: expect.stringContaining('Oops') as string },
    })
  })
})
