// Opens pages in Chromium and fails on what a test without a browser cannot see. See check.
const { chromium } = require('playwright-core');
const fs = require('fs');
const http = require('http');
const path = require('path');

const [samples, target, url, ...only] = process.argv.slice(2);
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const failures = [];
const fail = (page, what) => { failures.push(`${page}: ${what}`); console.log(`FAIL ${page}: ${what}`); };

const views = [
  { name: 'light', width: 1280, height: 900, scheme: 'light' },
  { name: 'dark', width: 1280, height: 900, scheme: 'dark' },
  { name: 'narrow', width: 320, height: 700, scheme: 'light' },
  { name: 'narrow-dark', width: 360, height: 760, scheme: 'dark' },
  { name: 'wall', width: 2560, height: 1440, scheme: 'dark' },
];

async function main() {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  const names = fs.readdirSync(samples).filter(f => f.endsWith('.html')).map(f => f.replace(/\.html$/, ''));
  const all = names.map(name => ({ name, at: 'file://' + path.join(samples, name + '.html') })).concat({ name: 'served', at: url })
    .filter(page => only.length === 0 || only.includes(page.name));
  for (const { name, at } of all) {
    for (const view of views) await look(browser, name, at, view);
    await keyboard(browser, name, at);
    await judge(browser, name, at);
    await print(browser, name, at);
    console.log('looked at', name);
  }
  await served(browser);
  await browser.close();
}

// look opens a page as it is for people, with scripts off, and takes a picture.
async function look(browser, name, at, view) {
  const label = `${name} ${view.name}`;
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.height }, colorScheme: view.scheme, javaScriptEnabled: false, reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  watch(page, label, at);
  await page.goto(at);
  await page.screenshot({ path: path.join(target, `${name}-${view.name}.png`) });
  const size = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  if (size[0] > size[1]) fail(label, `it is ${size[0]} wide in a window of ${size[1]}`);
  const columns = await page.evaluate(() => [...document.querySelectorAll('body *')]
    .filter(e => !e.children.length && !e.closest('thead') && e.offsetWidth < 40 && e.offsetHeight > 120).map(e => e.textContent.slice(0, 40)));
  for (const text of columns) fail(label, `a letter a line: ${text}`);
  await context.close();
}

// watch fails on anything that the browser says about a page, and on anything that it loads beside it.
function watch(page, label, at) {
  page.on('console', m => fail(label, `the browser says: ${m.text()}`));
  page.on('pageerror', e => fail(label, `error: ${e.message}`));
  page.on('dialog', d => { fail(label, `a dialog: ${d.message()}`); d.dismiss(); });
  page.on('request', r => { if (r.url().split('#')[0] !== at) fail(label, `it asks for ${r.url()}`); });
}

// keyboard goes through a page with Tab alone.
async function keyboard(browser, name, at) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  watch(page, name + ' by keyboard', at);
  await page.goto(at);
  const expected = await page.evaluate(() => [...document.querySelectorAll('a[href], summary')].filter(e => !e.closest('details:not([open]) > :not(summary)')).length);
  const most = Math.min(expected, 60);
  let above = -Infinity;
  for (let i = 0; i < most; i++) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate(() => {
      const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
      return { tag: e.tagName, text: e.textContent.trim().slice(0, 60), outline: parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== 'none',
        seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight, top: box.top + scrollY, skip: e.className === 'skip' };
    });
    if (i === 0 && !stop.skip) fail(name, `the first stop is ${stop.tag} "${stop.text}", not the link past the navigation`);
    if (!['A', 'SUMMARY'].includes(stop.tag)) fail(name, `stop ${i} is <${stop.tag}>`);
    if (!stop.outline) fail(name, `the focus cannot be seen on "${stop.text}"`);
    if (!stop.seen) fail(name, `the focus is out of sight on "${stop.text}"`);
    if (i > 1 && stop.top < above - 40) fail(name, `the focus goes back up at "${stop.text}"`);
    above = stop.top;
  }
  // The first link leads past the navigation.
  await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
  await page.goto(at);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  if (await page.evaluate(() => document.activeElement.id) !== 'main') fail(name, 'the link past the navigation leads nowhere');
  // What is folded opens without a mouse.
  const first = page.locator('summary').first();
  if (await first.count()) {
    await first.focus();
    await page.keyboard.press('Enter');
    if (!await first.evaluate(e => e.parentElement.open)) fail(name, 'Enter does not unfold');
  }
  await page.close();
}

// judge asks axe, in both schemes and unfolded, and writes down what a screen reader is given.
async function judge(browser, name, at) {
  for (const scheme of ['light', 'dark']) {
    const context = await browser.newContext({ bypassCSP: true, colorScheme: scheme, viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    await page.goto(at);
    await page.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
    await page.evaluate(axe);
    const result = await page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    for (const v of result.violations) fail(`${name} ${scheme}`, `axe ${v.id}: ${v.help} (${v.nodes.length}): ${v.nodes[0].html.slice(0, 160)}`);
    if (scheme === 'light') fs.writeFileSync(path.join(target, name + '.tree'), await page.locator('body').ariaSnapshot());
    await context.close();
  }
}

async function print(browser, name, at) {
  const page = await browser.newPage({ colorScheme: 'dark' });
  await page.goto(at);
  await page.pdf({ path: path.join(target, name + '.pdf'), format: 'A4' });
  await page.emulateMedia({ media: 'print' });
  const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  if (paper !== 'rgb(255, 255, 255)') fail(name, `it is printed on ${paper}`);
  await page.close();
}

// served checks what only the listener does.
async function served(browser) {
  const page = await browser.newPage();
  await page.goto(url);
  await page.getByRole('link', { name: 'Reload it every minute' }).click();
  if (!page.url().endsWith('/?refresh=60') || await page.locator('meta[http-equiv=refresh]').count() !== 1) fail('served', 'it cannot be asked to reload itself');
  await page.getByRole('link', { name: 'Stop that' }).click();
  if (await page.locator('meta[http-equiv=refresh]').count()) fail('served', 'it cannot be asked to stop');
  // A script and a style that got in would not count.
  const got = await page.evaluate(() => {
    const s = document.createElement('script');
    s.textContent = 'document.title = "run"';
    document.body.append(s);
    const style = document.createElement('style');
    style.textContent = 'body { color: rgb(1, 2, 3) !important; }';
    document.body.append(style);
    document.body.setAttribute('style', 'color: rgb(1, 2, 3) !important');
    return [document.title, getComputedStyle(document.body).color];
  });
  if (got[0] === 'run' || got[1] === 'rgb(1, 2, 3)') fail('served', `the policy lets in a script or a style: ${got}`);
  // Another site can neither frame it nor read it.
  const other = http.createServer((q, a) => { a.setHeader('Content-Type', 'text/html'); a.end(`<iframe src="${url}"></iframe>`); });
  await new Promise(ready => other.listen(0, '127.0.0.2', ready));
  const site = `http://127.0.0.2:${other.address().port}/`;
  await page.goto(site);
  const frame = page.frames()[1];
  if (frame && frame.url().startsWith(url)) fail('served', 'another site can frame it');
  const read = await page.evaluate(u => fetch(u).then(r => r.text(), e => 'refused'), url);
  if (read !== 'refused') fail('served', 'another site can read it');
  other.close();
  await page.close();
  // A name that was made to lead here.
  const rebound = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--host-resolver-rules=MAP evil.example 127.0.0.1'] });
  const evil = await rebound.newPage();
  const answer = await evil.goto(url.replace('127.0.0.1', 'evil.example'));
  if (answer.status() !== 421) fail('served', `a foreign name is answered with ${answer.status()}`);
  await rebound.close();
}

main().then(() => {
  console.log(failures.length ? `${failures.length} failures` : 'nothing to object to');
  process.exit(failures.length ? 1 : 0);
}, e => { console.error(e); process.exit(2); });
