/** Markdown in the page: what is rendered, and what stays text. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blocksOf, hasMarkup } from '../../src/inspector/page/markdown/blocks.js'
import { inlineOf, type Inline } from '../../src/inspector/page/markdown/inline.js'
import { Share, TooMuchWork, Work } from '../../src/inspector/page/markdown/work.js'
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

  it.each([
    'plain',
    'a - b',
    '2 * 3',
    'snake_case_name',
    'a*b*c',
    '_private',
    'e.g. this (that)',
    '<b>x</b>',
  ])('%j has no markup', (text) => {
    expect(hasMarkup(text)).toBe(false)
  })

  it.each(['**a**', '_Any_ city', '*a b*.', '`x`', '# a', '- a', '[a](https://x.test)', '| a |'])(
    '%j has markup',
    (text) => expect(hasMarkup(text)).toBe(true),
  )

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

  const SIZE = 99_000
  const repeated = (piece: string): string => piece.repeat(Math.ceil(SIZE / piece.length)).slice(0, SIZE)

  it.each([
    ['a wide table', `${repeated('|a').slice(0, SIZE / 2)}\n|-|\n|1|`],
    ['a table of pipes', repeated('|||\n|-|-\n')],
    ['a tall table', `|a|b|\n|-|-|\n${repeated('|1|2|\n')}`],
    ['items', repeated('- a\n')],
    ['lists in lists', repeated('- x\n  - x\n    - x\n      - x\n        - x\n          - x\n')],
    ['code', repeated('`a`')],
    ['marks that close nothing', repeated('*a **b ***c ~~d _e __f ')],
    ['one mark that closes nothing', repeated('*a ')],
    ['brackets', repeated('[a')],
    ['addresses', repeated('<http://a')],
    ['headings', repeated('# a\n')],
    ['paragraphs', repeated('a\n\n')],
    ['tables in lists', repeated('- |a|b|\n  |-|-|\n')],
  ])('of %s is too much work', (_, text) => {
    expect(() => blocksOf(text)).toThrow(TooMuchWork)
  })

  it('counts each element that a page makes, and each place where one might begin', () => {
    const work = new Work()
    blocksOf('# a\n- *b*\n- c\n\n|x|y|\n|-|-|\n|1|2|\n\n`d` _e', work)
    // Heading, list with 2 items of a paragraph each, an emphasis, a table of 4 cells, a paragraph with code, and an open mark.
    expect(work.used).toBe(1 + 1 + 2 + 2 + 1 + 1 + 4 + 1 + 1 + 1)
  })

  it('reads a long report', () => {
    const section = '## Part\n\nSome *words* and `code` about https://x.test/a.\n\n- one\n- two\n\n'
    expect(blocksOf(section.repeat(300)).length).toBe(900)
  })

  it('ends for what opens everything and closes nothing, and for deep nesting', () => {
    for (const piece of HOSTILE) {
      const text = piece.repeat(samples(100_000) / piece.length)
      for (const each of [text, `${text}x`, `#${text}x`, `|\n|${text}x`, `\` ${text}\``]) {
        const work = new Work()
        try {
          expect(JSON.stringify(blocksOf(each, work)).length).toBeLessThan(100 * samples(100_000))
        } catch (error) {
          expect(error).toBeInstanceOf(TooMuchWork)
        }
        expect(work.used).toBeLessThan(samples(100_000))
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

describe('all texts that are shown', () => {
  const text = '- a\n'.repeat(1_500)
  const shares = (): { share: Share; isRendered: () => boolean }[] =>
    Array.from({ length: 10 }, () => {
      const share = new Share()
      return { share, isRendered: () => share.render((work) => blocksOf(text, work)) !== undefined }
    })

  it('share a bound, and give back what they no longer need', () => {
    const [first, ...others] = shares()
    expect(first?.isRendered()).toBe(true)
    const rendered = others.filter(({ isRendered }) => isRendered())
    expect(rendered.length).toBe(5)
    // Again, it takes what it had.
    expect(first?.isRendered()).toBe(true)
    first?.share.release()
    expect(others.filter((each) => !rendered.includes(each))[0]?.isRendered()).toBe(true)
    for (const { share } of others) share.release()
    expect(first?.isRendered()).toBe(true)
    first?.share.release()
  })
})
