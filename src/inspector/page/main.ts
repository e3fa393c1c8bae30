/**
 * The page of the inspector.
 *
 * @module
 */
import { render } from 'preact'
import { html } from 'htm/preact'
import { App } from './app.js'

const root = document.getElementById('app')
if (root !== null) {
  root.replaceChildren()
  render(html`<${App} />`, root)
}
