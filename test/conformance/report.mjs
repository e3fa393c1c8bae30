/** Reports of checks as text: one line for each failure, and one with the sums. */

/** Whether the agent keeps to the protocol: no check of what it must do failed, and no known failure is stale. */
export function isGood({ results, stale }) {
  return stale.length === 0 && !results.some(({ outcome, level }) => outcome === 'failed' && level === 'must')
}

export function linesOf({ interfaces, results, stale }) {
  const of = (outcome) => results.filter((result) => result.outcome === outcome)
  const failed = of('failed')
  const warnings = failed.filter(({ level }) => level === 'should')
  return [
    ...failed.map(lineOf),
    ...stale.map(
      (each) =>
        `stale  ${each.interface ?? 'all'} ${each.check}: known to fail (${each.reason}), but it passed`,
    ),
    `${interfaces.join(', ')}: ${of('passed').length} passed, ${failed.length - warnings.length} failed, ` +
      `${warnings.length} warnings, ${of('known').length} known failures`,
  ]
}

function lineOf({ level, target, check, title, spec, sent, expected, got }) {
  const word = level === 'must' ? 'failed ' : 'warning'
  const line = `${word} ${target} ${check}: ${title} (${spec}); sent ${sent}; expected ${expected}; got ${got}`
  return line.replace(/\s*\n\s*/g, ' ')
}
