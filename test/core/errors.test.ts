import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { A2AError, TaskManager } from 'a2a-tasks'
import { WIRE_ERRORS, type WireError } from 'a2a-tasks/wire'
import { thrown } from '../support/manager.js'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

describe('A2AError', () => {
  const error = thrown(() => new TaskManager().cancelTask('unknown'))

  test('has a name, a code, a message and data', () => {
    expect(error).toBeInstanceOf(A2AError)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'TaskNotFoundError',
      code: 'TASK_NOT_FOUND',
      message: 'Task not found: unknown',
      data: { taskId: 'unknown' },
    })
    expect(String(error)).toBe('TaskNotFoundError: Task not found: unknown')
    expect(Object.keys(error as object)).not.toContain('name')
  })

  test('is known by its code', () => {
    expect(A2AError.is(error)).toBe(true)
    expect(A2AError.is(error, 'TASK_NOT_FOUND')).toBe(true)
    expect(A2AError.is(error, 'TASK_TERMINAL')).toBe(false)
    const mismatch = new A2AError('JOURNAL_MISMATCH', 'no', {
      taskId: '',
      generation: 1,
      recorded: '',
      asked: '',
    })
    expect([A2AError.is(mismatch, 'HISTORY_MISMATCH'), A2AError.is(error, 'HISTORY_MISMATCH')]).toEqual([
      true,
      false,
    ])
    const isOurs: (value: unknown, index: number) => boolean = A2AError.is.bind(A2AError)
    expect([1, error].filter(isOurs)).toEqual([error])
    for (const other of [null, undefined, 'TASK_NOT_FOUND', new Error('x'), { code: 'TASK_NOT_FOUND' }]) {
      expect(A2AError.is(other)).toBe(false)
    }
  })

  test('is known across two copies of the library, where instanceof is not', () => {
    const copy = createRequire(import.meta.url)('../../dist/index.cjs') as { TaskManager: typeof TaskManager }
    const foreign = thrown(() => new copy.TaskManager().cancelTask('unknown'))
    expect(foreign).not.toBeInstanceOf(A2AError)
    expect(A2AError.is(foreign, 'TASK_NOT_FOUND')).toBe(true)
  })
})

describe('docs/reference/errors.md', () => {
  const page = read('docs/reference/errors.md')
  const [, rows = ''] = /export interface ErrorData \{\n(.*?)\n\}/s.exec(read('src/core/errors.ts')) ?? []
  /** The type of each code's data, without comments. */
  const types = rows.replace(/\/\*\*.*?\*\//gs, '').matchAll(/^ {2}([A-Z_]+): (NoData|\{.*?\})$/gms)
  const codes = [...types].map(([, code = '', type = '']) => ({
    code,
    properties: [...type.matchAll(/(\w+)\??:/g)].map(([, property = '']) => property),
  }))

  test('has a heading for each code, in the order of the code', () => {
    const headings = [...page.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(codes.map(({ code }) => code))
    expect(codes).toHaveLength(Object.keys(WIRE_ERRORS).length)
  })

  test.each(codes)('lists the data of $code', ({ code, properties }) => {
    const [, section = ''] = new RegExp(`^### ${code}\n(.*?)^##`, 'ms').exec(`${page}## `) ?? []
    for (const property of properties) expect(section).toContain(`\`${property}\``)
    expect(section.includes('`data` is empty')).toBe(properties.length === 0)
  })

  test('has what clients receive', () => {
    const rowsOfPage = [...page.matchAll(/^\| `([A-Z_]+)` +\| (-\d+) +\| (\d+) +\| `([A-Z_]+)` +\|$/gm)]
    expect(rowsOfPage.map(([, ...cells]) => cells)).toEqual(
      codes.map(({ code }) => {
        const wire = (WIRE_ERRORS as Readonly<Record<string, WireError>>)[code]
        return [code, String(wire?.code), String(wire?.http), wire?.reason]
      }),
    )
  })
})
