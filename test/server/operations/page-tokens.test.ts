import type { ListTasksResponse } from 'a2a-tasks/schemas'
import { describe, expect, test } from 'vitest'
import { agent } from '../../compat/support/agent.js'
import { as, authenticate, type TestAgent } from '../spec/support/agent.js'
import { failure, result } from '../dialects/support/dialects.js'

/** An agent with three tasks of each of two owners. */
function shared(): TestAgent {
  const a = agent(() => 'done', { authenticate })
  for (let index = 0; index < 3; index += 1) {
    for (const owner of ['ann', 'bob']) a.tasks.createTask({ skill: 'test', owner })
  }
  return a
}

async function page(a: TestAgent, params: object, who = 'ann'): Promise<ListTasksResponse> {
  const answer: unknown = await result(a, 'ListTasks', params, as(who))
  return answer as ListTasksResponse
}

describe('a page token of an agent in memory', () => {
  test('continues the pages of its owner, also with another page size', async () => {
    const a = shared()
    const { nextPageToken: pageToken, tasks } = await page(a, { pageSize: 1 })
    const rest = await page(a, { pageSize: 5, pageToken })
    const ids = [...tasks, ...rest.tasks].map(({ id }) => id)
    expect(ids).toEqual(
      a.tasks
        .listTasks({ owner: 'ann' })
        .map(({ id }) => id)
        .reverse(),
    )
    expect(rest.nextPageToken).toBe('')
  })

  test.each([
    ['another owner', {}, 'bob'],
    ['another context', { contextId: 'c' }, 'ann'],
    ['another state', { status: 'TASK_STATE_SUBMITTED' }, 'ann'],
    ['another time', { statusTimestampAfter: '2020-01-01T00:00:00Z' }, 'ann'],
  ])('is not valid for %s', async (_, filter, who) => {
    const a = shared()
    const { nextPageToken: pageToken } = await page(a, { pageSize: 1 })
    const error = await failure(a, 'ListTasks', { pageSize: 1, pageToken, ...filter }, as(who))
    expect(error).toMatchObject({ code: -32602 })
    expect(JSON.stringify(error)).toContain('"field":"pageToken"')
  })

  test('is not valid at another agent, nor in part, nor changed', async () => {
    const [a, b] = [shared(), shared()]
    const { nextPageToken: token } = await page(a, { pageSize: 1 })
    const changed = `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`
    for (const pageToken of [token.slice(0, -4), token.slice(0, 8), changed, `${token}=`, '1.x', 'é'])
      expect(await failure(a, 'ListTasks', { pageSize: 1, pageToken }, as('ann'))).toMatchObject({
        code: -32602,
      })
    expect(await failure(b, 'ListTasks', { pageSize: 1, pageToken: token }, as('ann'))).toMatchObject({
      code: -32602,
    })
  })

  test('does not show how many changes there were to the tasks of others', async () => {
    const a = shared()
    const before = await page(a, { pageSize: 1 })
    const [of] = a.tasks.listTasks({ owner: 'bob' })
    for (let index = 0; index < 5_000; index += 1) a.tasks.updateTask(of?.id ?? '', { message: `${index}` })
    for (const { id } of a.tasks.listTasks({ owner: 'ann' })) a.tasks.updateTask(id, { message: 'new' })
    const after = await page(a, { pageSize: 1 })
    expect(after.nextPageToken).toHaveLength(before.nextPageToken.length)
    const texts = [before, after].map(({ nextPageToken }) =>
      Buffer.from(nextPageToken, 'base64url').toString('latin1'),
    )
    for (const text of texts) expect(text).not.toContain(before.tasks[0]?.id)
    // The same page twice has two tokens, which cannot be compared.
    expect((await page(a, { pageSize: 1 })).nextPageToken).not.toBe(after.nextPageToken)
  })
})
