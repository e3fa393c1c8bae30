/** Files that people choose in the page, in a real browser. */
import { afterAll, expect, it } from 'vitest'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { OPEN } from './support/inspected.js'
import { reader } from './support/reader.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

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
