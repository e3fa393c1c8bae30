/**
 * Cards, as text.
 *
 * @module
 */
import type { AgentCard } from 'a2a-tasks/schemas'
import { printableLine } from '../terminal/printable.js'
import { bold, dim, green, red, yellow } from '../terminal/style.js'
import type { CardProblem } from 'a2a-tasks/agent-card'
import type { Verification } from './verify.js'

const MAX_ITEMS = 100

export function cardLines(card: AgentCard): string[] {
  const { name, description, version, provider, documentationUrl, skills } = card
  const about = [
    `${bold('Agent')}    ${printableLine(name)}  ${printableLine(version, 40)}`,
    ...(description === '' ? [] : [fact('About', description)]),
    ...(provider === undefined ? [] : [fact('Provider', `${provider.organization} ${provider.url}`)]),
    ...(documentationUrl === undefined ? [] : [fact('Docs', documentationUrl)]),
  ]
  return [
    ...about,
    '',
    bold('Interfaces'),
    ...some(card.supportedInterfaces, ({ protocolBinding, protocolVersion, url, tenant }) => {
      const suffix = tenant === undefined || tenant === '' ? '' : `  tenant ${tenant}`
      return [
        `  ${printableLine(`${protocolBinding} ${protocolVersion}`, 60).padEnd(13)}  ${printableLine(url + suffix)}`,
      ]
    }),
    '',
    fact('Can', capabilitiesOf(card)),
    fact('Takes', card.defaultInputModes.join(', ')),
    fact('Gives', card.defaultOutputModes.join(', ')),
    fact('Auth', securityOf(card)),
    '',
    bold(`Skills (${skills.length})`),
    ...some(skills, (skill) => {
      const [example] = skill.examples ?? []
      return [
        `  ${printableLine(skill.id, 60)}  ${dim(printableLine(skill.description, 200))}`,
        ...(example === undefined ? [] : [`    ${dim(`e.g. ${printableLine(example, 160)}`)}`]),
      ]
    }),
  ]
}

export function problemLines(problems: readonly CardProblem[]): string[] {
  if (problems.length === 0) return [green('Nothing that a client would stumble on')]
  return some(problems, ({ level, path, text }) => {
    const mark = level === 'error' ? red('error  ') : yellow('warning')
    return [`${mark} ${printableLine(path, 80)} ${printableLine(text, 500)}`]
  })
}

export function verificationText(verification: Verification): string {
  return verification.valid
    ? green(
        `Signed by the key ${printableLine(verification.kid, 100)} (${printableLine(verification.alg, 20)})`,
      )
    : red(`No valid signature: ${printableLine(verification.reason, 500)}`)
}

function fact(name: string, text: string): string {
  return name.padEnd(9) + printableLine(text, 1_000)
}

function some<T>(items: readonly T[], lines: (item: T) => readonly string[]): string[] {
  const more = items.length - MAX_ITEMS
  return [...items.slice(0, MAX_ITEMS).flatMap(lines), ...(more > 0 ? [`  … and ${more} more`] : [])]
}

function capabilitiesOf({ capabilities }: AgentCard): string {
  const { streaming, pushNotifications, extendedAgentCard, extensions = [] } = capabilities
  const offered = [
    ...(streaming === true ? ['stream'] : []),
    ...(pushNotifications === true ? ['send webhooks'] : []),
    ...(extendedAgentCard === true ? ['show an extended card'] : []),
    ...extensions.slice(0, 20).flatMap(({ uri }) => (uri === undefined ? [] : [uri])),
  ]
  return offered.join(', ') || 'answer requests only'
}

function securityOf({ securitySchemes = {}, securityRequirements = [] }: AgentCard): string {
  const required = securityRequirements.map(({ schemes = {} }) => Object.keys(schemes).join(' and '))
  if (required.length > 0) return required.join(', or ')
  const names = Object.keys(securitySchemes)
  return names.length === 0 ? 'none declared' : `not required; known: ${names.join(', ')}`
}
