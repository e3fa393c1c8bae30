/** Markdown in the page: what is rendered, what stays text, and the real browser. */
import { TaskManager } from 'a2a-tasks'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { blocksOf, hasMarkup } from '../../src/inspector/page/markdown/blocks.js'
import { inlineOf, type Inline } from '../../src/inspector/page/markdown/inline.js'
import { closeBrowser, requireChromium } from '../support/browser.js'
import { READ } from './support/inspected.js'
import { serve, violationsIn, visit } from './support/visit.js'

afterAll(closeBrowser)

const link = (href: string, ...content: Inline[]): Inline => ({ type: 'a', href, content })

describe('inlineOf', () => {
  it.each<[string, Inline[]]>([
    ['a **b *c*** d', ['a ', { type: 'strong', content: ['b ', { type: 'em', content: ['c'] }] }, ' d']],
    ['***all***', [{ type: 'strong', content: [{ type: 'em', content: ['all'] }] }]],
    ['~~no~~ and __yes__', [{ type: 'del', content: ['no'] }, ' and ', { type: 'strong', content: ['yes'] }]],
    ['snake_case_name, 2 * 3 * 4, **open', ['snake_case_name, 2 * 3 * 4, **open']],
    ['`a*b*` ``c`d``', [{ type: 'code', text: 'a*b*' }, ' ', { type: 'code', text: 'c`d' }]],
    [String.raw`\*not\* \<b>`, ['*not* <b>']],
    ['<b onclick=x>hi</b> &amp;', ['<b onclick=x>hi</b> &amp;']],
    ['[a *b*](https://x.test/y "t")', [link('https://x.test/y', 'a ', { type: 'em', content: ['b'] })]],
    ['![dog](https://x.test/dog.png)', [link('https://x.test/dog.png', 'dog')]],
    ['see https://x.test/a?b=c.', ['see ', link('https://x.test/a?b=c', 'https://x.test/a?b=c'), '.']],
    ['<mailto:a@x.test>', [link('mailto:a@x.test', 'mailto:a@x.test')]],
    ['[https://good.test](https://x.test)', [link('https://x.test/', 'https://good.test')]],
  ])('reads %j', (text, expected) => expect(inlineOf(text)).toEqual(expected))

  it.each([
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert)',
    '[x](data:text/html,hi)',
    '[x](vbscript:x)',
    '[x](//elsewhere.test)',
    '[x](/api/tasks)',
    '[x](file:///etc/passwd)',
    '<javascript:alert(1)>',
    '[x](java&#115;cript:alert)',
  ])('leaves %j as it is', (text) => expect(inlineOf(text)).toEqual([text]))
})

describe('blocksOf', () => {
  it('reads headings without gaps, lists in lists, quotes, code, tables and rules', () => {
    const paragraph = (text: string): object => ({ type: 'paragraph', content: [text] })
    expect(
      blocksOf(
        [
          ...[
            '## Plan ##',
            '#### Deep',
            '# Top',
            'one',
            'two',
            '',
            '1. first',
            '   - inner',
            '2. [x] second',
          ],
          ...[
            '',
            '> said',
            '> # loud',
            '---',
            '| a | b |',
            '|---|:-:|',
            '| 1 | x\\|y |',
            '',
            '```js',
            '# no',
            '',
            '*',
          ],
        ].join('\r\n'),
      ),
    ).toEqual([
      { type: 'heading', depth: 1, content: ['Plan'] },
      { type: 'heading', depth: 2, content: ['Deep'] },
      { type: 'heading', depth: 1, content: ['Top'] },
      paragraph('one\ntwo'),
      {
        type: 'list',
        start: 1,
        items: [
          [paragraph('first'), { type: 'list', items: [[paragraph('inner')]] }],
          [paragraph('☑ second')],
        ],
      },
      { type: 'quote', blocks: [paragraph('said'), { type: 'heading', depth: 1, content: ['loud'] }] },
      { type: 'rule' },
      { type: 'table', head: [['a'], ['b']], rows: [[['1'], ['x|y']]] },
      { type: 'code', text: '# no\n\n*' },
    ])
  })

  it.each(['plain', 'a - b', '2 * 3', 'e.g. this (that)', '<b>x</b>'])('%j has no markup', (text) => {
    expect(hasMarkup(text)).toBe(false)
  })

  const HOSTILE = [
    '*a ',
    '**a',
    '_a ',
    '`',
    '``a`',
    '[',
    '[x](',
    '![',
    '<https://',
    'https://.',
    '> ',
    '- ',
    '~',
    '|',
    '# ',
    ' ',
  ]

  it('ends for what opens everything and closes nothing, and for deep nesting', () => {
    for (const piece of HOSTILE) {
      const text = piece.repeat(100_000 / piece.length)
      for (const each of [text, `${text}x`, `#${text}x`, `|\n|${text}x`]) {
        expect(JSON.stringify(blocksOf(each)).length).toBeLessThan(10_000_000)
      }
    }
  })

  it('links only to the web and to mail, whatever the text', () => {
    const pieces = fc.constantFrom(
      ...HOSTILE,
      '\n',
      ')',
      ']',
      'javascript:',
      'x',
      '"',
      '(',
      '\\',
      '1. ',
      '   ',
      '```',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
        const json = JSON.stringify(blocksOf(parts.join('')))
        for (const [, href = ''] of json.matchAll(/"href":"([^"]*)"/g))
          expect(href).toMatch(/^(https?:|mailto:)/)
      }),
    )
  })
})

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
