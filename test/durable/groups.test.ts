/** Which commits are sent together, and what becomes of each. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { Groups, type Member } from '../../src/durable/groups.js'
import { turn } from './support/durable.js'

interface Named extends Member {
  readonly name: string
}

const LIMITS = { members: 3, size: 100, groups: 1 }

class Lost extends Error {}

/** Groups that last until they are answered by hand, and are shown by the names of their commits. */
function grouping(limits = LIMITS) {
  const sent: string[] = []
  const ends = new Map<
    string,
    { answer: (answers: (string | undefined)[]) => void; fail: (e: Error) => void }
  >()
  const groups = new Groups<Named, string>(limits, {
    send: (members) =>
      new Promise((answer, fail) => {
        const names = members.map(({ name }) => name).join(' ')
        sent.push(names)
        ends.set(names, { answer, fail })
      }),
    mayBeOfOne: (error) => !(error instanceof Lost),
  })
  const results = new Map<string, string>()
  const commit = (name: string, given: Partial<Named> = {}): void => {
    void groups.commit({ name, taskId: name, commitId: name, size: 1, ...given }).then(
      (result) => results.set(name, result),
      (error: unknown) => results.set(name, (error as Error).message),
    )
  }
  const end = async (names: string, outcome: (string | undefined)[] | Error): Promise<void> => {
    const { answer, fail } = ends.get(names) ?? {}
    if (outcome instanceof Error) fail?.(outcome)
    else answer?.(outcome)
    await turn()
  }
  return { sent, commit, end, results }
}

test('a lone commit is sent at once, and those that come meanwhile go together, each with its own answer', async () => {
  const { sent, commit, end, results } = grouping()
  commit('a')
  await Promise.resolve()
  expect(sent).toEqual(['a'])
  commit('b')
  commit('c')
  await turn()
  expect(sent).toEqual(['a'])
  await end('a', ['committed'])
  expect(sent).toEqual(['a', 'b c'])
  await end('b c', ['conflict', 'committed'])
  expect([...results]).toEqual([
    ['a', 'committed'],
    ['b', 'conflict'],
    ['c', 'committed'],
  ])
})

test('commits of one turn go together', async () => {
  const { sent, commit } = grouping()
  for (const name of ['a', 'b', 'c']) commit(name)
  await turn()
  expect(sent).toEqual(['a b c'])
})

test('a group has limits of number and size, and a commit that is larger is sent alone', async () => {
  const { sent, commit, end } = grouping()
  for (const name of ['a', 'b', 'c', 'd']) commit(name)
  commit('e', { size: 99 })
  commit('f', { size: 101 })
  commit('g')
  await turn()
  for (let done = 0; done < sent.length; done += 1) await end(sent[done] ?? '', ['x', 'x', 'x'])
  expect(sent).toEqual(['a b c', 'd e', 'f', 'g'])
})

test('the limit of groups holds, and those that wait are shared out among the free ones', async () => {
  const { sent, commit, end } = grouping({ ...LIMITS, groups: 2 })
  for (const name of ['a', 'b', 'c', 'd']) commit(name)
  await turn()
  expect(sent).toEqual(['a b', 'c d'])
  commit('e')
  await turn()
  expect(sent).toHaveLength(2)
  await end('c d', ['x', 'x'])
  expect(sent.slice(2)).toEqual(['e'])
})

test('commits of one task keep their order, in groups of their own, and let others pass', async () => {
  const { sent, commit, end } = grouping({ ...LIMITS, groups: 2 })
  commit('1', { taskId: 'a' })
  commit('2', { taskId: 'a' })
  commit('b')
  await turn()
  expect(sent).toEqual(['1 b'])
  commit('3', { taskId: 'a' })
  commit('c')
  await turn()
  expect(sent.slice(1)).toEqual(['c'])
  await end('1 b', ['x', 'x'])
  expect(sent.slice(2)).toEqual(['2'])
  await end('2', ['x'])
  expect(sent.slice(3)).toEqual(['3'])
})

test('a repeated commit does not wait for its first attempt', async () => {
  const { sent, commit } = grouping({ ...LIMITS, groups: 2 })
  commit('first', { taskId: 'a', commitId: '1' })
  await turn()
  commit('again', { taskId: 'a', commitId: '1' })
  await turn()
  expect(sent).toEqual(['first', 'again'])
})

test('a group that fails because of one commit is sent one by one, and only that one fails', async () => {
  const { sent, commit, end, results } = grouping()
  for (const name of ['a', 'b', 'c']) commit(name)
  await turn()
  await end('a b c', new Error('Constraint failed'))
  expect(sent.slice(1)).toEqual(['a', 'b', 'c'])
  await end('a', ['committed'])
  await end('b', new Error('Constraint failed'))
  await end('c', ['committed'])
  expect(Object.fromEntries(results)).toEqual({ a: 'committed', b: 'Constraint failed', c: 'committed' })
})

test('a commit that a group leaves out is sent alone, before later ones of its task', async () => {
  const { sent, commit, end, results } = grouping()
  commit('a')
  commit('1', { taskId: 'b' })
  await turn()
  commit('2', { taskId: 'b' })
  await end('a 1', ['committed', undefined])
  expect(sent.slice(1)).toEqual(['1'])
  await end('1', ['conflict'])
  expect(sent.slice(2)).toEqual(['2'])
  await end('2', [undefined])
  expect(Object.fromEntries(results)).toEqual({
    ...{ a: 'committed', 1: 'conflict', 2: 'The database has not answered a commit' },
  })
})

test('a connection that fails fails the commits of its group, and no others', async () => {
  const { sent, commit, end, results } = grouping()
  commit('a')
  commit('b')
  await turn()
  commit('c')
  await end('a b', new Lost('Connection lost'))
  expect(sent).toEqual(['a b', 'c'])
  await end('c', ['committed'])
  expect(Object.fromEntries(results)).toEqual({ a: 'Connection lost', b: 'Connection lost', c: 'committed' })
})

test('a group without an answer keeps no others waiting for long', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { sent, commit, end, results } = grouping()
  commit('a')
  await turn()
  commit('b')
  commit('2', { taskId: 'a' })
  vi.advanceTimersByTime(999)
  await turn()
  expect(sent).toEqual(['a'])
  vi.advanceTimersByTime(1)
  await turn()
  expect(sent).toEqual(['a', 'b 2'])
  await end('a', ['late'])
  expect(results.get('a')).toBe('late')
  commit('c')
  await turn()
  expect(sent).toHaveLength(2)
  await end('b 2', ['x', 'x'])
  expect(sent.slice(2)).toEqual(['c'])
})
