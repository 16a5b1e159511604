/** Runs in a page before its scripts: sums up layout shifts and counts running requests. */
export const WATCH = `
  let shift = 0
  const under = { way: 0, done: 0 }
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value
  }).observe({ type: 'layout-shift', buffered: true })
  const plain = window.fetch
  window.fetch = async (...input) => {
    under.way++
    try {
      return await plain(...input)
    } finally {
      under.done++
      setTimeout(() => under.way--, 50)
    }
  }
  const write = CanvasRenderingContext2D.prototype.fillText
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    const written = (this.canvas.written ??= { left: new Set(), right: new Set(), center: new Set() })
    written[this.textAlign]?.add(text)
    return write.call(this, text, ...rest)
  }
  Object.assign(window, { layoutShift: () => shift, isSettled: () => under.way === 0 && under.done > 0 })
`

/** Resolves once a page has drawn its first responses. */
export const SETTLED = `(async () => {
  const frame = () => new Promise(requestAnimationFrame)
  while (!isSettled()) await frame()
  await frame()
  await frame()
})()`

/**
 * Lists the elements of a page that are wider than the window, and each text that is cut off, outside its element or below another text. A
 * text that ends in "…" counts as complete if its title has the whole text.
 */
export const LIST_FAULTS = `(async () => {
  for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame)
  const faults = []
  const room = document.documentElement.clientWidth
  const excess = document.documentElement.scrollWidth - room
  if (excess > 0) faults.push('the page is ' + excess + ' px too wide')
  const seen = []
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  const nameOf = (element) => element.closest('[class]')?.className + ' <' + element.localName + '>'
  while (texts.nextNode()) {
    const node = texts.currentNode
    const element = node.parentElement
    if (!node.data.trim() || element.closest('.hidden, .skip, option, noscript')) continue
    if (!element.checkVisibility({ visibilityProperty: true })) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    for (const box of range.getClientRects()) {
      if (box.width < 1) continue
      let { left, right, top, bottom } = box
      let isFixed = false
      for (let around = element; around !== document.body; around = around.parentElement) {
        const style = getComputedStyle(around)
        isFixed ||= style.position === 'sticky'
        if (style.overflowX === 'visible') continue
        const outer = around.getBoundingClientRect()
        if (style.overflowX !== 'auto' && (top < outer.top - 2 || bottom > outer.bottom + 2))
          faults.push('cut off: ' + node.data.slice(0, 40) + ' in ' + nameOf(around))
        const isShort = style.textOverflow === 'ellipsis' && element.closest('[title]')
        if (style.overflowX !== 'auto' && !isShort && (left < outer.left - 1 || right > outer.right + 1))
          faults.push('cut off: ' + node.data.slice(0, 40) + ' in ' + nameOf(around))
        left = Math.max(left, outer.left)
        right = Math.min(right, outer.right)
      }
      if (right - left < 1 || isFixed) continue
      if (left < -1 || right > room + 1) faults.push('outside: ' + node.data.slice(0, 40) + ' in ' + nameOf(element))
      seen.push({ left, right, top: top + 3, bottom: bottom - 3, node, element })
    }
  }
  for (const named of document.querySelectorAll('a, h1, h2, h3'))
    if (named.checkVisibility() && !named.querySelector('img') && !/[^\\s\\p{C}\\u2800]/u.test(named.innerText))
      faults.push('nothing to see in ' + named.outerHTML.slice(0, 80))
  for (const lane of document.querySelectorAll('.lane')) {
    const canvas = lane.querySelector('canvas')
    const { right: beside, center: below } = canvas?.written ?? {}
    if (!/^[A-Za-z]/.test(lane.dataset.name)) faults.push('a lane without a name: ' + lane.dataset.name)
    if (canvas && (beside.size < 2 || below.size < 2)) faults.push('fewer than two values at an axis: ' + lane.dataset.name)
  }
  for (const canvas of document.querySelectorAll('canvas'))
    if (canvas.getBoundingClientRect().right > canvas.closest('.stage, .world-map').getBoundingClientRect().right + 1)
      faults.push('a chart is wider than its place')
  for (const bar of document.querySelectorAll('.bar, .zone-bar'))
    if (bar.getBoundingClientRect().width > bar.parentElement.getBoundingClientRect().width + 1)
      faults.push('a bar is wider than its place: ' + nameOf(bar))
  const [choice, below] = ['nav.choice', '.day'].map((name) => document.querySelector(name)?.getBoundingClientRect())
  if (choice && below && below.top - choice.bottom < 8) faults.push('the choice of accounts touches the cards')
  seen.sort((a, b) => a.top - b.top)
  seen.forEach((one, index) => {
    for (let next = index + 1; seen[next] && seen[next].top < one.bottom; next++) {
      const other = seen[next]
      if (other.node !== one.node && Math.min(one.right, other.right) - Math.max(one.left, other.left) > 2)
        faults.push('one below the other: ' + one.node.data.slice(0, 30) + ' and ' + other.node.data.slice(0, 30) + ' in ' + nameOf(one.element))
    }
  })
  return [...new Set(faults)].slice(0, 8)
})()`
