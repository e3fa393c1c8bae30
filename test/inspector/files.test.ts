/** Files that people send to an agent from the page. */
import { describe, expect, it } from 'vitest'
import { OPEN, Page, READ } from './support/inspected.js'
import { reader } from './support/reader.js'

const FILE = { filename: 'a.csv', mediaType: 'text/csv', raw: btoa('a;b') }

describe('POST messages', () => {
  it('sends files, with a text or without', async () => {
    const handler = reader()
    const page = new Page({ ...OPEN, tasks: handler.tasks, handler })
    for (const text of ['here', undefined]) {
      expect((await page.post('messages', { text, files: [FILE] })).status).toBe(200)
      const parts = [...(text === undefined ? [] : [{ text }]), FILE]
      expect(handler.tasks.listTasks().at(-1)?.messages[0]?.parts).toEqual(parts)
    }
  })

  it.each<[object, string]>([
    [{ files: [] }, 'text must'],
    [{ files: FILE }, 'files must'],
    [{ files: Array.from({ length: 21 }, () => FILE) }, 'at most 20'],
    [{ files: [FILE, null] }, 'files[1]'],
    [{ files: [{ ...FILE, filename: '' }] }, 'a filename'],
    [{ files: [{ ...FILE, mediaType: 'x'.repeat(2_000) }] }, 'a filename'],
    [{ files: [{ ...FILE, raw: '<svg>' }] }, 'files[0].raw'],
    [{ files: [{ filename: 'a', mediaType: 'b' }] }, 'files[0].raw'],
  ])('refuses %j', async (body, text) => {
    const handler = reader()
    const { status, body: answer } = await new Page({ ...OPEN, tasks: handler.tasks, handler }).post(
      'messages',
      body,
    )
    expect([status, JSON.stringify(answer).replaceAll('\\"', '"')]).toEqual([
      400,
      expect.stringContaining(text),
    ])
  })

  it('takes as much as the handler does, and from those who may send', async () => {
    const handler = reader(200_000)
    const send = async (bytes: number, options: object): Promise<number> => {
      const page = new Page({ ...READ, ...options, tasks: handler.tasks, handler })
      return (await page.post('messages', { files: [{ ...FILE, raw: 'A'.repeat(bytes) }] })).status
    }
    expect(await send(190_000, OPEN)).toBe(200)
    expect(await send(200_000, OPEN)).toBe(413)
    expect(await send(70_000, { actions: ['cancel'] })).toBe(413)
    expect(await send(1_000, { actions: ['cancel'] })).toBe(403)
  })
})
