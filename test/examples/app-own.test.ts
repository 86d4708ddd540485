import '../../examples/app/app.test.ts'
