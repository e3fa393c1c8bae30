/** Markdown in the page, in a real browser. */
import { TaskManager } from 'a2a-tasks'
import { afterAll, expect, it } from 'vitest'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { READ } from './support/inspected.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

it(
  'renders markdown at a click, at once where the type says so, and loads nothing',
  { timeout: 60_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const tasks = new TaskManager()
    tasks.createTask({ id: 'a', skill: 'write' })
    tasks.addMessage('a', { role: 'user', parts: [{ text: 'Please **hurry**' }] })
    const report = [
      ...[
        '## Result',
        '',
        '- one',
        '- <img src=x onerror=alert(1)>',
        '',
        '![pixel](https://tracker.test/p.png)',
      ],
      ...[
        '[more](https://example.test/more)',
        '[bad](javascript:alert(2))',
        '',
        '| a | b |',
        '|---|---|',
        '| 1 | 2 |',
      ],
      ...['', '```', '<script>alert(3)</script>', '```'],
    ].join('\n')
    tasks.appendArtifact('a', { artifactId: 'r', parts: [{ text: report, mediaType: 'text/markdown' }] })
    const { page, faults } = await visit(chromium, `${await serve({ ...READ, tasks })}#/t/a`)
    const results = page.getByRole('region', { name: 'Results' })
    await results.getByRole('heading', { name: 'Result', exact: true }).waitFor()
    expect(await results.getByRole('listitem').allTextContents()).toEqual([
      'one',
      '<img src=x onerror=alert(1)>',
    ])
    expect(await results.locator('img, script').count()).toBe(0)
    const links = await results.getByRole('link').all()
    const attributes = links.map((each) => Promise.all([each.textContent(), each.getAttribute('href')]))
    expect(await Promise.all(attributes)).toEqual([
      ['pixel', 'https://tracker.test/p.png'],
      ['more', 'https://example.test/more'],
    ])
    expect(await results.locator('a[rel="noopener noreferrer nofollow"]').count()).toBe(2)
    expect(await results.getByRole('cell').allTextContents()).toEqual(['1', '2'])
    expect(await violationsIn(page)).toEqual([])
    await results.getByRole('button', { name: 'Show as text' }).press('Enter')
    await results.getByText('## Result').waitFor()
    const conversation = page.getByRole('region', { name: 'Conversation' })
    await conversation.getByText('Please **hurry**').waitFor()
    await conversation.getByRole('button', { name: 'Show as markdown' }).press('Enter')
    await conversation.locator('strong', { hasText: 'hurry' }).waitFor()
    expect(await violationsIn(page)).toEqual([])
    expect(faults).toEqual([])
  },
)
