import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  A2A_LIFECYCLE,
  canTransition,
  defineLifecycle,
  INTERRUPTED_STATES,
  isInterrupted,
  isTerminal,
  shortestPath,
  TERMINAL_STATES,
  toMermaid,
  VALID_STATES,
  VALID_TRANSITIONS,
  type TaskState,
} from 'a2a-tasks'

const page = readFileSync(new URL('../../docs/state-machine.md', import.meta.url), 'utf8')

/** The cells of a row, without back-quotes. */
function cells(line: string): string[] {
  return line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.replaceAll('`', '').trim())
}

/** The rows of the table whose first header is `first`. */
function table(first: string): string[][] {
  const lines = page.split('\n')
  const start = lines.findIndex((line) => line.startsWith('|') && cells(line)[0] === first)
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'))
  return lines.slice(start, end).map(cells)
}

interface Cell {
  from: string
  to: string
  legal: boolean
}

function readMatrix(): Cell[] {
  const [[, ...targets] = [], , ...rows] = table('from \\ to')
  return rows.flatMap(([from = '', ...marks]) =>
    marks.map((mark, index) => ({ from, to: targets[index] ?? '', legal: mark === '✓' })),
  )
}

const matrix = readMatrix()

/** The cells in which a table of the code differs from the document. */
function differences(transitions: Readonly<Record<string, readonly string[]>>): string[] {
  return matrix
    .filter(({ from, to, legal }) => (transitions[from]?.includes(to) ?? false) !== legal)
    .map(({ from, to }) => `${from} → ${to}`)
}

describe('the matrix of docs/state-machine.md', () => {
  test('has a row and a column for each state', () => {
    expect(matrix).toHaveLength(VALID_STATES.length ** 2)
    expect(new Set(matrix.map(({ from }) => from))).toEqual(new Set(VALID_STATES))
    expect(new Set(matrix.map(({ to }) => to))).toEqual(new Set(VALID_STATES))
  })

  test.each(matrix)('$from → $to: $legal', ({ from, to, legal }) => {
    // The rows and columns are the states: the test above.
    expect(canTransition(from as TaskState, to as TaskState)).toBe(legal)
  })

  test('a mutation of one cell of the table is seen in that cell and in no other', () => {
    for (const { from, to, legal } of matrix) {
      const targets = VALID_TRANSITIONS[from as TaskState]
      const mutated = legal ? targets.filter((target) => target !== to) : [...targets, to]
      expect(differences({ ...VALID_TRANSITIONS, [from]: mutated })).toEqual([`${from} → ${to}`])
    }
  })

  test('the kinds of states are those of the code', () => {
    const [, , ...rows] = table('state')
    for (const [state, kind] of rows) {
      expect(isTerminal(state as TaskState), state).toBe(kind === 'terminal')
      expect(isInterrupted(state as TaskState), state).toBe(kind === 'live, interrupted')
    }
    expect(rows).toHaveLength(VALID_STATES.length)
  })

  test('the diagram is what toMermaid draws', () => {
    expect(page).toContain(toMermaid())
  })

  test('every invariant names a test that exists', () => {
    const folder = new URL('./', import.meta.url)
    const tests = readdirSync(folder)
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => readFileSync(new URL(file, folder), 'utf8'))
      .join('\n')
    const invariants = table('').slice(2)
    expect(invariants.map(([number]) => number)).toEqual(invariants.map((_, index) => `I${index + 1}`))
    for (const [, , name] of invariants) expect(tests).toContain(`'${name}'`)
  })
})

describe('the constants', () => {
  test('are frozen', () => {
    const all = [VALID_STATES, TERMINAL_STATES, INTERRUPTED_STATES, VALID_TRANSITIONS, A2A_LIFECYCLE]
    for (const value of [...all, ...Object.values(VALID_TRANSITIONS)])
      expect(Object.isFrozen(value)).toBe(true)
  })

  test('without auth-required and rejected are those of the TaskManager module', () => {
    const known = (states: readonly TaskState[]): TaskState[] =>
      states.filter((state) => state !== 'auth-required' && state !== 'rejected')
    expect(known(VALID_STATES)).toEqual([
      'submitted',
      'working',
      'input-required',
      'completed',
      'failed',
      'canceled',
    ])
    expect(known(TERMINAL_STATES)).toEqual(['completed', 'failed', 'canceled'])
    expect(known(VALID_TRANSITIONS.submitted)).toEqual(['working', 'failed', 'canceled'])
    expect(known(VALID_TRANSITIONS.working)).toEqual(['input-required', 'completed', 'failed', 'canceled'])
    expect(known(VALID_TRANSITIONS['input-required'])).toEqual(['working', 'failed', 'canceled'])
  })
})

describe('canTransition, isTerminal, isInterrupted', () => {
  test.each(['constructor', '__proto__', 'toString', '', 'WORKING'])('know no state %j', (name) => {
    const state = name as TaskState
    expect(canTransition(state, 'working')).toBe(false)
    expect(canTransition('working', state)).toBe(false)
    expect(isTerminal(state)).toBe(false)
    expect(isInterrupted(state)).toBe(false)
    expect(shortestPath(state, state)).toBeUndefined()
  })
})

test('the predicates may be callbacks', () => {
  expect(VALID_STATES.filter(isTerminal)).toEqual(TERMINAL_STATES)
  expect(VALID_STATES.filter(isInterrupted)).toEqual(INTERRUPTED_STATES)
})

describe('shortestPath', () => {
  test.each([
    ['submitted', 'completed', ['working', 'completed']],
    ['submitted', 'input-required', ['working', 'input-required']],
    ['input-required', 'completed', ['working', 'completed']],
    ['submitted', 'submitted', []],
    ['working', 'failed', ['failed']],
    ['working', 'submitted', undefined],
    ['completed', 'working', undefined],
  ] as const)('%s to %s', (from, to, path) => {
    expect(shortestPath(from, to)).toEqual(path)
  })

  test('is legal step by step, and no longer than two steps', () => {
    for (const from of VALID_STATES) {
      for (const to of VALID_STATES) {
        const path = shortestPath(from, to) ?? []
        const steps = path.map((state, index) => [path[index - 1] ?? from, state] as const)
        expect(steps.every(([a, b]) => canTransition(a, b))).toBe(true)
        expect(path.length).toBeLessThanOrEqual(2)
      }
    }
  })
})

describe('defineLifecycle', () => {
  const review = defineLifecycle({
    open: ['review', 'canceled'],
    review: ['open', 'done', 'canceled'],
    done: [],
    canceled: [],
  })

  test('takes the first state as the initial one and those without targets as terminal', () => {
    expect(review.initial).toBe('open')
    expect(review.terminal).toEqual(['done', 'canceled'])
    expect(review.interrupted).toEqual([])
    expect(shortestPath('open', 'done', review)).toEqual(['review', 'done'])
    expect(isTerminal('done', review)).toBe(true)
  })

  test('does not change when the given table changes', () => {
    const targets: ('b' | 'c')[] = ['b']
    const table = { a: targets, b: ['c'] as 'c'[], c: [] }
    const lifecycle = defineLifecycle(table)
    targets.push('c')
    expect(canTransition('a', 'c', lifecycle)).toBe(false)
  })

  test.each([
    [
      'a target that is no state',
      { a: ['b', 'x'], b: [] },
      '"a" leads to "x", which is not a state of the table: a, b',
    ],
    ['a state that nothing reaches', { a: ['b'], b: [], c: ['b'] }, 'Nothing leads from "a" to "c"'],
    ['a circle apart', { a: ['b'], b: [], c: ['d'], d: ['c'] }, 'Nothing leads from "a" to "c"'],
    ['a state that leads to itself', { a: ['a', 'b'], b: [] }, '"a" leads to itself'],
    ['a target listed twice', { a: ['b', 'b'], b: [] }, '"a" lists "b" twice'],
    ['no state', {}, 'at least one state'],
    [
      'a canceled state that is not the end',
      { a: ['canceled'], canceled: ['a'] },
      '"canceled" must be terminal',
    ],
    [
      'a state that waitFor could not tell',
      { a: ['terminal'], terminal: [] },
      '"terminal" cannot name a state',
    ],
    ['a state that is a number', { a: ['1'], 1: [] }, '"1" cannot name a state'],
    ['a state without an array', { a: 'b', b: [] }, '"a" must have an array of the states it leads to'],
    ['a target from the prototype', { a: ['toString'] }, '"a" leads to "toString", which is not a state'],
  ])('refuses %s', (_, table, message) => {
    expect(() => defineLifecycle(table as Record<string, never[]>)).toThrow(TypeError)
    expect(() => defineLifecycle(table as Record<string, never[]>)).toThrow(message)
  })

  test('refuses an interrupted state that is terminal or unknown', () => {
    const table = { a: ['b'], b: [] } as const
    expect(() => defineLifecycle(table, { interrupted: ['b'] })).toThrow(
      '"interrupted" names "b", which is terminal',
    )
    expect(() => defineLifecycle(table, { interrupted: ['x' as 'a'] })).toThrow(
      'names "x", which is not a state',
    )
    expect(defineLifecycle(table, { interrupted: ['a'] }).interrupted).toEqual(['a'])
  })

  test('refuses an option that it does not know', () => {
    expect(() => defineLifecycle({ a: ['b'], b: [] }, { interupted: ['a'] } as never)).toThrow(
      'Unknown option "interupted"',
    )
  })

  test('is drawn by toMermaid with ids that Mermaid can read', () => {
    expect(toMermaid(defineLifecycle({ 'to do': ['done'], done: [] }))).toBe(
      'stateDiagram-v2\n    state "to do" as to_do\n    [*] --> to_do\n    to_do --> done\n    done --> [*]\n',
    )
  })
})
