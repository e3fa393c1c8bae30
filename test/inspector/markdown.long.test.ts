/** Markdown in the page, in a real browser. */
import { TaskManager } from 'a2a-tasks'
import { afterAll, expect, it } from 'vitest'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { READ } from './support/inspected.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

it('renders markdown, loads nothing, and shows the text at a click', { timeout: 60_000 }, async (context) => {
  const chromium = requireChromium(context)
  const tasks = new TaskManager()
  tasks.createTask({ id: 'a', skill: 'write' })
  const plain = { text: '**Not** markdown', mediaType: 'text/plain' }
  tasks.addMessage('a', { role: 'user', parts: [{ text: 'Please **hurry** [now](https://x.test)' }, plain] })
  tasks.updateTask('a', { state: 'working', message: '# Reading the `notes`' })
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
  await conversation.locator('strong', { hasText: 'hurry' }).waitFor()
  await conversation.getByText('**Not** markdown').waitFor()
  await conversation.locator('code', { hasText: 'notes' }).waitFor()
  // A row is one link, and has no other one in it.
  const row = page.locator('.row')
  expect(await row.locator('strong').first().textContent()).toBe('hurry')
  expect(await row.locator('a').count()).toBe(0)
  expect(await row.textContent()).toContain('Reading the notes')
  expect(await violationsIn(page)).toEqual([])
  expect(faults).toEqual([])
})

const SIZE = 99_000
const filled = (piece: string, size = SIZE): string =>
  piece.repeat(Math.ceil(size / piece.length)).slice(0, size)

it(
  'shows the source of what would keep it busy, however many texts there are',
  { timeout: 90_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const tasks = new TaskManager({ eventLogSize: 1_000 })
    tasks.createTask({ id: 'a', skill: 'write' })
    const hostile = [
      `${filled('|a', SIZE / 2)}\n|-|\n|1|`,
      filled('|||\n|-|-\n'),
      filled('- x\n  - x\n    - x\n      - x\n        - x\n'),
      filled('`a` '),
      filled('*a **b ***c ~~d _e '),
      // Each of these is rendered, as long as they are few.
      ...Array.from({ length: 20 }, () => `${filled('|a', 8_000)}\n|-|\n|1|`),
    ]
    for (const [index, text] of hostile.entries()) {
      tasks.appendArtifact('a', { artifactId: `r${index}`, parts: [{ text, mediaType: 'text/markdown' }] })
    }
    const { page, faults } = await visit(chromium, `${await serve({ ...READ, tasks })}#/t/a`)
    const articles = page.getByRole('region', { name: 'Results' }).getByRole('article')
    await articles.nth(24).waitFor()
    for (let index = 0; index < 5; index += 1) {
      await articles.nth(index).getByText('Too large to be rendered').waitFor()
    }
    expect(await page.locator('.markdown').count()).toBe(4)
    expect(await page.evaluate<number>(`document.querySelectorAll('*').length`)).toBeLessThan(25_000)
    await page.getByRole('tab', { name: 'Log' }).click()
    await page.getByRole('tab', { name: 'Overview' }).click()
    await expect.poll(() => page.locator('.markdown').count()).toBe(4)
    expect(faults).toEqual([])
  },
)
