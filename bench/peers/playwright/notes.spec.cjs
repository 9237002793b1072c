const { expect, test } = require("@playwright/test");

const { BENCH_FLOWS, BENCH_URL } = process.env;

for (let n = 0; n < Number(BENCH_FLOWS); n++) {
  test(`a note survives a reload ${n}`, async ({ page }, info) => {
    const note = page.getByText(`buy milk ${n}`);
    await page.goto(BENCH_URL);
    await page.getByLabel("New note").fill(`buy milk ${n}`);
    await page.getByRole("button", { name: "Add" }).click();
    await expect(note).toBeVisible();
    await page.reload();
    await expect(note).toBeVisible();
    await expect(page).toHaveURL(BENCH_URL);
    await page.screenshot({ path: info.outputPath("notes.png") });
  });
}
