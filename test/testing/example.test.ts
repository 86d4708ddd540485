import '../../examples/testing/tasks.test.ts'
