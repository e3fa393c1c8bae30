/** Markdown in the page: what is rendered, and what stays text. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blocksOf, hasMarkup } from '../../src/inspector/page/markdown/blocks.js'
import { inlineOf, type Inline } from '../../src/inspector/page/markdown/inline.js'
import { samples } from '../support/samples.js'

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
      const text = piece.repeat(samples(100_000) / piece.length)
      for (const each of [text, `${text}x`, `#${text}x`, `|\n|${text}x`]) {
        expect(JSON.stringify(blocksOf(each)).length).toBeLessThan(100 * samples(100_000))
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
