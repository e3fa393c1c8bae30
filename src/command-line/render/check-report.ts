/**
 * Reports of checks by section of the specification: as text, and as JUnit XML.
 *
 * @module
 */
import type { Report, Result } from '../../conformance/suite.js'
import { printable, printableLine } from '../terminal/printable.js'
import { bold, dim, green, red, yellow } from '../terminal/style.js'

/** The sections of A2A 1.0 that checks are of. */
const TITLES: Readonly<Record<string, string>> = {
  '1.0 §3.1': 'Core operations',
  '1.0 §3.2': 'Parameters of operations',
  '1.0 §3.3': 'Semantics of operations',
  '1.0 §3.4': 'Conversations of several turns',
  '1.0 §3.5': 'Delivery of updates',
  '1.0 §3.6': 'Versions',
  '1.0 §4.1': 'Core objects',
  '1.0 §4.2': 'Events of streams',
  '1.0 §4.3': 'Webhooks',
  '1.0 §4.4': 'Agent card',
  '1.0 §4.6': 'Extensions',
  '1.0 §5': 'Requirements of all bindings',
  '1.0 §8': 'Discovery of agents',
  '1.0 §9': 'JSON-RPC',
  '1.0 §11': 'HTTP+JSON',
  '1.0 §13': 'Security',
  '1.0 §14': 'Media types and headers',
}

const DOCUMENT = /^(?:(1\.0|0\.3) )?(RFC \d+ )?(?:§(\d+(?:\.\d+)?)|(A\.\d+))?/

/** The section that a result is of: `1.0 §3.1` for `1.0 §3.1.5, §3.2`, and `1.0 §9` for all of a binding. */
export function sectionOf(spec: string): string {
  const [, version, rfc, number = '', appendix] = DOCUMENT.exec(spec) ?? []
  if (rfc !== undefined) return rfc.trim()
  if (appendix !== undefined) return `${version ?? ''} ${appendix}`.trim()
  const chapter = number.split('.')[0] ?? ''
  const isWhole = version === '0.3' || !['3', '4'].includes(chapter)
  return `${version ?? ''} §${isWhole ? chapter : number}`.trim()
}

/** The results of each section, in the order of the specification: 1.0, then 0.3, then documents of others. */
export function bySection(results: readonly Result[]): Map<string, Result[]> {
  const sections = new Map<string, Result[]>()
  for (const result of results) {
    const section = sectionOf(result.spec)
    sections.set(section, [...(sections.get(section) ?? []), result])
  }
  return new Map([...sections].toSorted(([a], [b]) => rankOf(a) - rankOf(b) || a.localeCompare(b)))
}

function rankOf(section: string): number {
  const [, version, chapter, part = '0'] = /^(1\.0|0\.3) §(\d+)(?:\.(\d+))?/.exec(section) ?? []
  if (version === undefined)
    return section.startsWith('1.0') ? 5_000 : section.startsWith('0.3') ? 15_000 : 20_000
  return (version === '1.0' ? 0 : 10_000) + Number(chapter) * 100 + Number(part)
}

export function reportLines(report: Report): string[] {
  const { interfaces, results, stale } = report
  const lines: string[] = []
  for (const [section, all] of bySection(results)) {
    const title = TITLES[section]
    const name = `${/^\d/.test(section) ? 'A2A ' : ''}${section}${title === undefined ? '' : ` ${title}`}`
    lines.push(`${bold(name)}  ${countsText(all)}`)
    lines.push(...all.filter(({ outcome }) => outcome === 'failed').flatMap(failureLines))
  }
  const skipped = new Set(
    results.flatMap(({ outcome, reason }) => (outcome === 'skipped' && reason ? [reason] : [])),
  )
  return [
    ...lines,
    '',
    ...[...skipped].map((reason) => dim(`skipped: ${printableLine(reason, 400)}`)),
    ...stale.map(({ check, reason }) => yellow(`${check} is known to fail (${reason}), but it passed`)),
    `${printableLine(interfaces.join(', '))}: ${countsText(results)}`,
  ]
}

function countsText(results: readonly Result[]): string {
  const count = (is: (result: Result) => boolean): number => results.filter(is).length
  const failed = count(({ outcome, level }) => outcome === 'failed' && level === 'must')
  const warned = count(({ outcome, level }) => outcome === 'failed' && level === 'should')
  const skipped = count(({ outcome }) => outcome === 'skipped')
  const known = count(({ outcome }) => outcome === 'known')
  return [
    green(`${count(({ outcome }) => outcome === 'passed')} passed`),
    ...(failed > 0 ? [red(`${failed} failed`)] : []),
    ...(warned > 0 ? [yellow(`${warned} warnings`)] : []),
    ...(known > 0 ? [`${known} known failures`] : []),
    ...(skipped > 0 ? [dim(`${skipped} skipped`)] : []),
  ].join(', ')
}

function failureLines({ level, target, check, title, spec, sent, expected, got }: Result): string[] {
  const word = level === 'must' ? red('failed ') : yellow('warning')
  return [
    `  ${word} ${check}, ${target}: ${title} (${spec})`,
    ...(sent === undefined || sent === '' ? [] : [dim(`          sent     ${printableLine(sent, 400)}`)]),
    `          expected ${printableLine(expected ?? '', 400)}`,
    `          got      ${printableLine(got ?? '', 400)}`,
  ]
}

/** JUnit XML with a suite for each section. Warnings and known failures are skipped tests with a text. */
export function toJUnit({ results }: Report): string {
  const suites = [...bySection(results)].map(([section, all]) => {
    const failures = all.filter(isFailure).length
    const skipped = all.filter((each) => !isFailure(each) && each.outcome !== 'passed').length
    const counts = `tests="${all.length}" failures="${failures}" skipped="${skipped}"`
    return `  <testsuite name="${xml(section)}" ${counts}>\n${all.map(toTestCase).join('\n')}\n  </testsuite>`
  })
  const failures = results.filter(isFailure).length
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="a2a-tasks check" tests="${results.length}" failures="${failures}">
${suites.join('\n')}
</testsuites>
`
}

function isFailure({ outcome, level }: Result): boolean {
  return outcome === 'failed' && level === 'must'
}

function toTestCase(result: Result): string {
  const { target, check, title, outcome, reason = '', sent = '', expected = '', got = '' } = result
  const head = `    <testcase classname="${xml(target)}" name="${xml(`${check}: ${title}`)}"`
  if (outcome === 'passed') return `${head} />`
  if (isFailure(result)) {
    const body = `sent: ${sent}\nexpected: ${expected}\ngot: ${got}`
    return `${head}><failure message="${xml(`expected ${expected}`)}">${xml(body)}</failure></testcase>`
  }
  const text = outcome === 'failed' ? `warning: expected ${expected}, got ${got}` : reason
  return `${head}><skipped message="${xml(text)}" /></testcase>`
}

/** Text without what XML 1.0 refuses. */
function xml(text: string): string {
  return printable(text)
    .replace(/[\ud800-\udfff\ufffe\uffff]/gu, '\ufffd')
    .replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '')
    .replaceAll('\n', '&#10;')
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
