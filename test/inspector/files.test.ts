/** Files that people send to an agent from the page. */
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler, type RequestHandler } from 'a2a-tasks/server'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { OPEN, Page, READ } from './support/inspected.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

/** An agent that says what it has received, and asks for a file. */
function reader(maxBodyBytes = 65_536): RequestHandler {
  const tasks = new TaskManager()
  const handler = createRequestHandler({
    card: {
      name: 'Reader',
      url: 'http://agent.test',
      defaultInputModes: ['text/plain', 'image/*', 'text/csv'],
    },
    tasks,
    anonymous: 'shared',
    checkInputModes: true,
    limits: { maxBodyBytes, maxBodyBytesInFlight: maxBodyBytes },
    async execute(run) {
      const sent = await run.requireInput('Which file?')
      return [...run.message.parts, ...sent.parts]
        .map(({ text, filename, mediaType, raw }) => text ?? `${filename} ${mediaType} ${raw}`)
        .join('\n')
    },
  })
  onTestFinished(() => handler.close({ graceMs: 0 }))
  return handler
}

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

it(
  'sends files by the chat and in an answer, and says what is too much',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const handler = reader()
    const { page, faults } = await visit(
      chromium,
      `${await serve({ ...OPEN, tasks: handler.tasks, handler })}#/agent`,
    )
    const chat = page.getByRole('region', { name: 'Try it' })
    const files = chat.getByLabel('Add files')
    const send = chat.getByRole('button', { name: 'Send' })
    const csv = (name: string, bytes: number): object => ({
      name,
      mimeType: 'text/csv',
      buffer: Buffer.from('x'.repeat(bytes)),
    })
    await files.focus()
    expect(await page.evaluate<string>('document.activeElement.type')).toBe('file')
    expect(await send.isDisabled()).toBe(true)
    // The types of Playwright name a Buffer.
    await files.setInputFiles([csv('one.csv', 3), csv('large.csv', 60_000)] as never)
    await chat.getByRole('alert').getByText('A message takes at most 36.0 kB').waitFor()
    expect(await send.isDisabled()).toBe(true)
    expect(await violationsIn(page)).toEqual([])
    await chat.getByRole('button', { name: 'Remove large.csv' }).press('Enter')
    await files.setInputFiles([csv('two.csv', 2)] as never)
    await send.press('Enter')
    await chat.getByText('Which file?').first().waitFor()
    expect(handler.tasks.listTasks()[0]?.messages[0]?.parts).toEqual([
      { filename: 'one.csv', mediaType: 'text/csv', raw: btoa('xxx') },
      { filename: 'two.csv', mediaType: 'text/csv', raw: btoa('xx') },
    ])
    expect(await chat.getByRole('button', { name: 'Remove one.csv' }).count()).toBe(0)

    await chat
      .getByLabel('Add files')
      .first()
      .setInputFiles([csv('three.csv', 1)] as never)
    await chat.getByRole('button', { name: 'Answer' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await chat.getByText(`three.csv text/csv ${btoa('x')}`).waitFor()
    expect(await violationsIn(page)).toEqual([])

    await files.setInputFiles({
      name: 'a.pdf',
      mimeType: 'application/pdf',
      buffer: Buffer.from('x'),
    })
    await send.click()
    await expect
      .poll(() => chat.getByRole('alert').allTextContents())
      .toContain('The agent refused: The agent does not accept parts of type application/pdf')
    await chat.getByRole('button', { name: 'Remove a.pdf' }).waitFor()
    expect(faults.filter((fault) => !fault.includes('409'))).toEqual([])
  },
)
